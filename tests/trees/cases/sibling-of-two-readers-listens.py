# truth: healthy
# unseen: what a sibling does after its wait cannot be seen
# then: ends
# about: two processes read each other's pipes; their sibling, a supervisor's control, listens at a socket with a path, which a process outside of the tree calls after a time, and then kills one of them (unix(7), kill(2))
import os
from lib import tree, more
more.foreign("""
import fcntl, os, socket, time
os.chdir("%s")
time.sleep(float(os.environ["SECS"]) + 4); s = socket.socket(socket.AF_UNIX); s.connect("run"); time.sleep(1)
""" % tree.D)
tree.show("""
import fcntl, os, signal, socket, time
a, b = os.pipe(); c, d = os.pipe()
x = os.fork()
if x == 0: os.close(b); os.close(c); os.read(a, 1); os._exit(0)
y = os.fork()
if y == 0: os.close(a); os.close(d); os.read(c, 1); os._exit(0)
for n in (a, b, c, d): os.close(n)
if os.fork() == 0:
    s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); s.accept()
    os.kill(x, 9); os._exit(0)
for n in range(3): os.wait()
""", lambda pid: len(tree.children(pid)) == 3 and [tree.in_call(n, 'read', 'accept') for n in tree.children(pid)] == [True] * 3 and any(tree.in_call(n, 'accept') for n in tree.children(pid)))
