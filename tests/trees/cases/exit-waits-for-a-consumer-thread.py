# truth: hung
# cause: lock|futex|thread|queue
# about: the program is over, and the interpreter joins a thread that is no daemon and waits for the next job of a queue (threading, Thread.daemon: the program exits when no alive non-daemon threads are left)
from lib import tree
tree.show('''
import queue, threading
jobs = queue.Queue()
def consume():
    while True: jobs.get(); jobs.task_done()
threading.Thread(target=consume).start()
jobs.put(1); jobs.join()
''', lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'futex'))
