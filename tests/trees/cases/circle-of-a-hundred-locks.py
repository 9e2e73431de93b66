# truth: hung
# cause: lock
# about: a hundred processes, each of which has a lock and waits for the next one's; the last one waits for the first one's (flock(2): no detection of deadlocks)
from lib import tree, more
tree.show('''
import fcntl, os, time
N = 100
def take(n): f = open(f"lock{n % N}", "w"); fcntl.flock(f, 2); return f
for n in reversed(range(N)):
    if os.fork() == 0:
        f = take(n); open(f"has{n}", "w")
        while not os.path.exists("all"): time.sleep(.05)
        take(n + 1); os._exit(0)
    while not os.path.exists(f"has{n}"): time.sleep(.005)
open("all", "w")
for n in range(N): os.wait()
''', lambda pid: more.there('all') and all(tree.in_call(c, 'flock') for c in tree.children(pid)))
