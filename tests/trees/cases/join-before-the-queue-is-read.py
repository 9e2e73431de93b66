# truth: hung
# cause: pipe|full|child|queue|thread
# about: a parent joins a child before it has read its queue; the child's feeder thread blocks in the full pipe (multiprocessing, joining processes that use queues)
from lib import tree
tree.write('joins.py', '''
import multiprocessing
def work(q): q.put("x" * (1 << 20))
if __name__ == "__main__":
    q = multiprocessing.Queue(); p = multiprocessing.Process(target=work, args=(q,)); p.start(); p.join()
''')
tree.show(['python3', 'joins.py'], lambda pid: tree.in_call(pid, 'wait') and any(tree.any_in_call(c, 'write') for c in tree.children(pid)))
