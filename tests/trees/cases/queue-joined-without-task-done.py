# truth: hung
# cause: lock|thread|condition|nobody|itself|futex
# about: queue.Queue.join blocks until task_done was called for every item; the worker calls it for none, and waits for the next item in get.
from lib import tree
tree.show("""
import queue, threading
q = queue.Queue()
def w():
    while True: q.get()
threading.Thread(target=w).start(); q.put(1); q.join()""", lambda p: len(tree.threads(p)) == 2 and tree.all_in_call(p, 'futex'))
