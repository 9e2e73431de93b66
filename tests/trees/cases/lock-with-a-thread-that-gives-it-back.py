# truth: healthy
# then: ends
# about: two threads wait for a lock that a third one has while it sleeps (threading, Lock)
from lib import tree
tree.show('''
import os, threading, time
lock, has = threading.Lock(), threading.Event()
def work():
    with lock: has.set(); time.sleep(float(os.environ["SECS"]))
def ask():
    with lock: pass
threading.Thread(target=work).start(); has.wait()
ts = [threading.Thread(target=ask) for _ in range(2)]
for t in ts: t.start()
for t in ts: t.join()
''', lambda pid: len(tree.threads(pid)) == 4)
