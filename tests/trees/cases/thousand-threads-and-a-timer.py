# truth: healthy
# then: ends
# about: a thousand threads wait for one lock, whose holder, one of them, sleeps (threading, Lock)
from lib import tree
tree.show('''
import os, threading, time
threading.stack_size(65536); lock = threading.Lock()
def hold():
    with lock: time.sleep(float(os.environ["SECS"]) + 10)
def want():
    with lock: pass
t = [threading.Thread(target=hold)]; t[0].start(); time.sleep(0)
while not lock.locked(): pass
t += [threading.Thread(target=want) for n in range(1000)]
for x in t[1:]: x.start()
open("begun", "w")
for x in t: x.join()
''', lambda pid: __import__('os').path.exists(tree.D + '/begun') and tree.in_call(pid, 'futex'))
