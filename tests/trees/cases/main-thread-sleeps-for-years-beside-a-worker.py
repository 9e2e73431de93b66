# truth: healthy
# then: ends
# about: the main thread sleeps for a very long time, and a worker thread does a step each second and then ends the process (Python, threading, time.sleep)
from lib import tree
tree.show('''
import os, threading, time
def work():
    for _ in range(int(float(os.environ["SECS"]))): time.sleep(1)
    os._exit(0)
threading.Thread(target=work).start(); time.sleep(10 ** 9)
''', lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'nanosleep'))
