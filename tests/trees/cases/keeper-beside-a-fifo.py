# truth: healthy
# then: ends
# about: a job has a helper that pauses, and opens itself a FIFO that a process outside of its tree opens for writing after a time; then it ends both (pause(2), fifo(7))
import os
from lib import tree, more
more.foreign('''
import fcntl, os, signal, socket, time
os.chdir("%s")
time.sleep(float(os.environ["SECS"])); open("f", "w").write("x")
''' % tree.D)
tree.show('''
import fcntl, os, signal, socket, time
keeper = os.fork()
if keeper == 0: signal.pause()
os.mkfifo("f"); open("f").read()
os.kill(keeper, 9); os.wait()
''', lambda pid: tree.in_call(pid, 'open') and tree.child_in_call(pid, 'pause'))
