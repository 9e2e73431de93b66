# truth: healthy
# then: ends
# about: a job waits for a lock; its holder, a sibling, waits for the answer of a server outside of the tree, which takes its time (flock(2), unix(7))
import os
from lib import tree, more
more.foreign("""
import os, socket, time
os.chdir("%s"); s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); open("up", "w"); c, _ = s.accept(); c.recv(9); time.sleep(float(os.environ["SECS"])); c.send(b"answer")
""" % tree.D)
tree.until(more.there, 'up')
tree.show("""
import fcntl, os, socket, time
if os.fork() == 0:
    f = open("lock", "w"); fcntl.flock(f, 2); s = socket.socket(socket.AF_UNIX); s.connect("run"); s.send(b"ask"); open("asked", "w"); s.recv(9); os._exit(0)
while not os.path.exists("asked"): time.sleep(.01)
f = open("lock", "w"); fcntl.flock(f, 2); os.wait()
""", lambda pid: tree.in_call(pid, 'flock') and tree.child_in_call(pid, 'recv'))
