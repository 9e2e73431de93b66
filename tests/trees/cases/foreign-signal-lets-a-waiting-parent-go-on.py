# truth: healthy
# then: ends
# about: a parent waits for its child's end and holds its stdin open; its handler of SIGUSR1 closes that, and a process outside of the tree sends the signal after a time (signal(7); wait(2) is taken up again)
from lib import tree
tree.show('''
import os, signal, subprocess, time
me = os.getpid(); p = subprocess.Popen(["cat"], stdin=-1); signal.signal(signal.SIGUSR1, lambda *x: p.stdin.close())
if os.fork() == 0:
    os.close(p.stdin.fileno()); os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.kill(me, signal.SIGUSR1); os._exit(0)
os.wait(); p.wait()
''', lambda pid: tree.in_call(pid, 'wait') and tree.child_in_call(pid, 'read'))
