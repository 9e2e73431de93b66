# truth: hung
# cause: futex|thread|itself
# about: the only worker of a pool waits for a task of the same pool (Python, concurrent.futures.ThreadPoolExecutor: "Deadlocks can occur when …", wait_on_future)
from lib import tree
tree.show('''
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(max_workers=1)
def wait_on_future(): return pool.submit(pow, 5, 2).result()
pool.submit(wait_on_future).result()
''', lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'futex'))
