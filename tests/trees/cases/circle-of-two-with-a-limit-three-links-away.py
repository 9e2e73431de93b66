# truth: healthy
# then: ends
# about: four processes in a circle: each reads the pipe of the next; the fourth has a limit for its read by poll(2), gives up, and all go on
from lib import tree
tree.show("""
import os, select
p = [os.pipe() for n in range(4)]
for n in range(4):
    if os.fork() == 0:
        r, w = p[n][0], p[(n + 1) % 4][1]
        for a, b in p:
            for f in (a, b):
                if f not in (r, w): os.close(f)
        if n == 3: select.select([r], [], [], float(os.environ["SECS"]))
        else: os.read(r, 1)
        os._exit(0)
for a, b in p: os.close(a); os.close(b)
for n in range(4): os.wait()
""", lambda pid: len(tree.children(pid)) == 4 and sum(tree.in_call(c, 'read') for c in tree.children(pid)) == 3)
