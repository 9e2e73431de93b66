# truth: healthy
# then: ends
# about: two processes read each other's pipes; the first one's handler of SIGCHLD writes to the second when its helper, which waits for a lock of a process outside of the tree, ends (signal(7), flock(2))
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import fcntl, os, time
if os.fork(): os._exit(0)
os.setsid(); f = open("lock", "w"); fcntl.flock(f, 2); open("held", "w"); time.sleep(float(os.environ["SECS"]))
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import fcntl, os, signal, time
while not os.path.exists("held"): time.sleep(.05)
a, b = os.pipe(); c, d = os.pipe()
def on(*x):
    try: os.write(b, b"x")
    except OSError: pass
if os.fork() == 0: os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d); signal.signal(signal.SIGCHLD, on)
if os.fork() == 0: os.close(b); os.close(c); fcntl.flock(open("lock"), 2); os._exit(0)
os.read(c, 1)
''', lambda pid: tree.in_call(pid, 'read') and len(tree.children(pid)) == 2 and tree.in_call(tree.children(pid)[1], 'flock'))
