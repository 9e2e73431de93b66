# truth: healthy
# unseen: what a sibling does after its wait cannot be seen
# then: ends
# about: two processes read each other's pipes; their sibling waits for a lock, which a process outside of the tree has for a time, and then kills one of them (flock(2), kill(2))
import os
from lib import tree, more
more.foreign("""
import fcntl, os, socket, time
os.chdir("%s")
f = open("lock", "w"); fcntl.flock(f, 2); open("has", "w"); time.sleep(float(os.environ["SECS"]) + 4)
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
    while not os.path.exists("has"): time.sleep(.01)
    f = open("lock", "w"); fcntl.flock(f, 2)
    os.kill(x, 9); os._exit(0)
for n in range(3): os.wait()
""", lambda pid: len(tree.children(pid)) == 3 and [tree.in_call(n, 'read', 'flock') for n in tree.children(pid)] == [True] * 3 and any(tree.in_call(n, 'flock') for n in tree.children(pid)))
