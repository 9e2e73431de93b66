# truth: hung
# cause: lock|futex|fork
# about: a child forked from a process with threads waits for a lock that a thread of its parent held; its parent reads the exec's error pipe (fork(2), subprocess)
import subprocess
import sys
from lib import tree
code = '''
import subprocess, threading
lock, has, over = threading.Lock(), threading.Event(), threading.Event()
def hold():
    with lock: has.set(); over.wait(2)
threading.Thread(target=hold, daemon=True).start(); has.wait()
subprocess.Popen(["true"], preexec_fn=lock.acquire)
'''
p = subprocess.Popen(['python3', '-c', code])
tree.until(lambda: len(tree.threads(p.pid)) == 1 and tree.in_call(p.pid, 'read'))
child = tree.until(tree.children, p.pid)[0]
tree.until(tree.in_call, child, 'futex')
tree.ready(p.pid)
sys.exit(p.wait())
