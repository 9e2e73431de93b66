# truth: healthy
# then: ends
# about: two hundred processes, each of which has a lock and waits for the next one's; the last one sleeps (flock(2))
from lib import tree, more
tree.show('''
import fcntl, os, time
N = 200
def take(n): f = open(f"lock{n}", "w"); fcntl.flock(f, 2); return f
for n in reversed(range(N)):
    if os.fork() == 0:
        f = take(n); open(f"has{n}", "w")
        if n == N - 1: time.sleep(float(os.environ["SECS"]))
        else: take(n + 1)
        os._exit(0)
    while not os.path.exists(f"has{n}"): time.sleep(.005)
open("all", "w")
for n in range(N): os.wait()
''', lambda pid: more.there('all'))
