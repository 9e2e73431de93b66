# truth: hung
# cause: lock|futex|thread
# about: the first thread joins a thread while it has the lock that the other one wants (threading, Thread.join, Lock)
from lib import tree
tree.show('''
import threading
lock = threading.Lock()
def work():
    with lock: pass
with lock:
    t = threading.Thread(target=work); t.start(); t.join()
''', lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'futex'))
