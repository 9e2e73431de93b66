# truth: hung
# cause: lock|futex|thread
# about: a queue is joined whose only consumer has ended with an exception before its task was done (queue, Queue.join)
from lib import tree
tree.show('''
import queue, threading
q = queue.Queue(); q.put(1)
def work(): q.get(); raise SystemExit
threading.Thread(target=work).start(); q.join()
''', lambda pid: tree.in_call(pid, 'futex') and len(tree.threads(pid)) == 1)
