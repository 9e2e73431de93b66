# truth: hung
# cause: thread|lock|futex|itself
# about: a thousand threads wait for one lock, which a thread that has ended took and never gave back (threading, Lock)
from lib import tree
tree.show('''
import os, threading, time
threading.stack_size(65536); lock = threading.Lock()
def take(): lock.acquire()
def want():
    with lock: pass
a = threading.Thread(target=take); a.start(); a.join()
t = [threading.Thread(target=want) for n in range(1000)]
for x in t: x.start()
open("begun", "w")
for x in t: x.join()
''', lambda pid: __import__('os').path.exists(tree.D + '/begun') and tree.in_call(pid, 'futex'))
