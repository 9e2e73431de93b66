# truth: healthy
# then: ends
# about: a CI runner has a worker that runs a step with a limit of the job: the runner's listener tells the worker by a pipe to cancel, and the step, two processes that read each other's pipes, is killed (GitHub Actions, timeout-minutes)
from lib import tree, more
tree.write('step.py', '''
import os
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    os.close(b); os.close(c); os.read(a, 1); os._exit(0)
os.close(a); os.close(d); os.read(c, 1)
''')
tree.write('worker.py', '''
import os, signal, subprocess, sys
p = subprocess.Popen(["python3", "step.py"], start_new_session=True, stdin=subprocess.DEVNULL)
if sys.stdin.readline() == "cancel\\n": os.killpg(p.pid, signal.SIGKILL)
p.wait()
''')
tree.show('''
import os, subprocess, time
p = subprocess.Popen(["python3", "worker.py"], stdin=-1, text=True)
time.sleep(float(os.environ["SECS"])); p.stdin.write("cancel\\n"); p.stdin.flush(); p.wait()
''', lambda pid: tree.child_in_call(pid, 'read') and tree.child_in_call(tree.children(pid)[0], 'read') and tree.child_in_call(tree.children(tree.children(pid)[0])[0], 'read'))
