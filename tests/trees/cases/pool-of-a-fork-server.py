# truth: healthy
# then: ends
# about: a pool's workers come from a fork server, beside a tracker of resources; one of them works (multiprocessing, contexts)
import os
from lib import tree
tree.write('pool.py', '''
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
def work(n): open("works", "w").close(); time.sleep(float(os.environ["SECS"])); return n
if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool: print(pool.submit(work, 1).result())
''')
tree.show(['python3', 'pool.py'], lambda pid: os.path.exists(f'{tree.D}/works'))
