# truth: healthy
# then: ends
# about: a job has a helper that pauses, and waits itself for a lock, which a process outside of its tree has for a time; then it ends both (pause(2), flock(2))
import os
from lib import tree, more
more.foreign('''
import fcntl, os, signal, socket, time
os.chdir("%s")
f = open("lock", "w"); fcntl.flock(f, 2); open("has", "w"); time.sleep(float(os.environ["SECS"]))
''' % tree.D)
tree.show('''
import fcntl, os, signal, socket, time
keeper = os.fork()
if keeper == 0: signal.pause()
while not os.path.exists("has"): time.sleep(.01)
f = open("lock", "w"); fcntl.flock(f, 2)
os.kill(keeper, 9); os.wait()
''', lambda pid: tree.in_call(pid, 'flock') and tree.child_in_call(pid, 'pause'))
