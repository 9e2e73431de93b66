# truth: hung
# cause: pipe|lock|futex|each other|thread|worker
# about: a worker of a pool was killed in the middle of a task, as for want of memory: the pool starts another one, and nobody gives the task's result (multiprocessing, Pool)
# verdict: HUNG WAITING WORKING UNKNOWN
import os
from lib import tree
tree.write('pool.py', '''
import multiprocessing, os, signal
def work(n): open("dies", "w").close(); os.kill(os.getpid(), signal.SIGKILL)
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: pool.map(work, [1])
''')
tree.show(['python3', 'pool.py'], lambda pid: os.path.exists(f'{tree.D}/dies') and len(tree.children(pid)) == 2
          and sorted(tree.in_call(c, 'read') + 2 * tree.in_call(c, 'futex') for c in tree.children(pid)) == [1, 2])
