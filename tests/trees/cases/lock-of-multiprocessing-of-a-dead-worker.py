# truth: hung
# cause: lock|futex|semaphore|shared
# about: a worker was killed while it had a lock of multiprocessing, which nobody else may release now; the parent waits for it (multiprocessing, Process.terminate: "may cause other processes to deadlock")
from lib import tree
tree.show('''
import multiprocessing, os, signal, time
m = multiprocessing.get_context("fork")
lock, has = m.Lock(), m.Event()
def work(): lock.acquire(); has.set(); signal.pause()
p = m.Process(target=work); p.start(); has.wait(); os.kill(p.pid, 9); p.join()
open("joined", "w").close()
lock.acquire()
''', lambda pid: __import__('os').path.exists(f'{tree.D}/joined') and tree.in_call(pid, 'futex'))
