# truth: hung
# cause: futex|lock|thread|deadlock
# about: the first thread has called pthread_exit, and the other two wait for each other's lock (pthread_exit(3))
from lib import tree
tree.show('''
import ctypes, threading
a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def take(x, y):
    with x: both.wait(); y.acquire()
for p in ((a, b), (b, a)): threading.Thread(target=take, args=p).start()
ctypes.CDLL(None).pthread_exit(None)
''', lambda pid: tree.state(pid) == 'Z' and len(tree.threads(pid)) == 3 and all(tree.in_call(t, 'futex') for t in tree.threads(pid)[1:]))
