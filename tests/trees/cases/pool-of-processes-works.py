# truth: healthy
# then: ends
# about: a pool's idle worker waits for the queue's lock while the other one works on the only task (multiprocessing, Pool)
from lib import tree
tree.write('pool.py', '''
import multiprocessing, os, time
def work(n): open("works", "w").close(); time.sleep(float(os.environ["SECS"])); return n
if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool: pool.map(work, [1])
''')
tree.show(['python3', 'pool.py'], lambda pid: __import__('os').path.exists(f'{tree.D}/works') and any(tree.any_in_call(c, 'futex') for c in tree.children(pid)))
