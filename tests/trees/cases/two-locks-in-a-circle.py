# truth: hung
# cause: lock|futex|thread|each other
# about: two threads each have the lock that the other waits for; the first thread joins them (threading, Lock)
from lib import tree
tree.show('''
import threading
a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def take(x, y):
    with x: both.wait(); y.acquire()
ts = [threading.Thread(target=take, args=p) for p in ((a, b), (b, a))]
for t in ts: t.start()
for t in ts: t.join()
''', lambda pid: len(tree.threads(pid)) == 3 and all(tree.all_in_call(pid, 'futex') for _ in range(10)))
