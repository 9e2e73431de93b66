# truth: healthy
# then: ends
# about: a service has a helper that only keeps its namespace and pauses, and waits itself for a client, who calls from outside of the tree after a time; then it ends both (pause(2), accept(2); a container's pause process)
import os
from lib import tree, more
more.foreign('''
import fcntl, os, signal, socket, time
os.chdir("%s")
time.sleep(float(os.environ["SECS"])); s = socket.socket(socket.AF_UNIX); s.connect("run"); time.sleep(1)
''' % tree.D)
tree.show('''
import fcntl, os, signal, socket, time
keeper = os.fork()
if keeper == 0: signal.pause()
s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); s.accept()
os.kill(keeper, 9); os.wait()
''', lambda pid: tree.in_call(pid, 'accept') and tree.child_in_call(pid, 'pause'))
