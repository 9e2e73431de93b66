# truth: hung
# cause: lock|futex|fork
# about: a process pool made by fork while another thread holds a lock: the workers wait for the copy of it for ever (multiprocessing, contexts)
import os
import subprocess
import sys
from lib import tree
tree.write('pool.py', '''
import multiprocessing, threading
from concurrent.futures import ProcessPoolExecutor
lock, has, over = threading.Lock(), threading.Event(), threading.Event()
def hold():
    with lock: has.set(); over.wait(2)
    open('over', 'w').close()
def work(n):
    with lock: return n
if __name__ == "__main__":
    threading.Thread(target=hold, daemon=True).start(); has.wait()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool: print(list(pool.map(work, range(2))))
''')
p = subprocess.Popen(['python3', 'pool.py'], cwd=tree.D)
tree.until(os.path.exists, f'{tree.D}/over')
tree.until(lambda: len(tree.children(p.pid)) == 2 and all(tree.in_call(c, 'futex') for c in tree.children(p.pid)))
tree.ready(p.pid)
sys.exit(p.wait())
