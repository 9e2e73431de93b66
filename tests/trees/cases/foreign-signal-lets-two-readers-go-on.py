# truth: healthy
# then: ends
# about: two processes read each other's pipes; the first one's handler of SIGUSR1 writes to the second, and a process outside of the tree sends that signal after a time (signal(7))
from lib import tree
tree.show('''
import os, signal, time
me = os.getpid(); a, b = os.pipe(); c, d = os.pipe()
signal.signal(signal.SIGUSR1, lambda *x: os.write(b, b"x"))
if os.fork() == 0: signal.signal(signal.SIGUSR1, signal.SIG_DFL); os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d)
if os.fork() == 0:
    os.close(b); os.close(c); os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.kill(me, signal.SIGUSR1); os._exit(0)
os.wait(); os.read(c, 1); os.wait()
''', lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
