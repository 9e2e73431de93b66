# truth: healthy
# then: ends
# about: a job has a helper that pauses, and waits itself for the answer of a server outside of its tree, which takes its time; then it ends both (pause(2), recv(2))
import os
from lib import tree, more
more.foreign('''
import fcntl, os, signal, socket, time
os.chdir("%s")
s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); open("up", "w"); c, _ = s.accept(); c.recv(9); time.sleep(float(os.environ["SECS"])); c.send(b"answer")
''' % tree.D)
tree.show('''
import fcntl, os, signal, socket, time
keeper = os.fork()
if keeper == 0: signal.pause()
while not os.path.exists("up"): time.sleep(.01)
s = socket.socket(socket.AF_UNIX); s.connect("run"); s.send(b"ask"); s.recv(9)
os.kill(keeper, 9); os.wait()
''', lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'pause'))
