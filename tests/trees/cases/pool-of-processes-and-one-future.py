# truth: healthy
# then: ends
# about: a pool of spawned processes works on one of its futures; its manager's thread watches the workers' sentinels, its feeder's thread waits for more (concurrent.futures, ProcessPoolExecutor)
from lib import tree, more
tree.write('pool.py', '''
import concurrent.futures, multiprocessing, os, time
def work(n):
    open("works", "w").close(); time.sleep(float(os.environ["SECS"])); return n
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool: print(list(pool.map(work, [1])))
''')
tree.show(['python3', 'pool.py'], lambda pid: more.there('works'))
