# truth: hung
# cause: lock|futex|thread|condition
# about: a program notifies a condition before it waits for it, and no other thread is there (threading, Condition.notify: it wakes those who wait now)
from lib import tree
tree.show('''
import threading
done = threading.Condition()
def work():
    with done: done.notify_all()
t = threading.Thread(target=work); t.start(); t.join()
with done: done.wait()
''', lambda pid: len(tree.threads(pid)) == 1 and tree.in_call(pid, 'futex'))
