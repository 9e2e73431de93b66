# truth: healthy
# then: ends
# about: a program waits for a lock that it has itself, with a limit; it was stopped and continued, and its call is started anew (restart_syscall(2); threading.Lock.acquire, timeout)
import os, signal
from lib import tree
seen = []
def stopped(pid):
    if not seen and tree.in_call(pid, 'futex'):
        os.kill(pid, signal.SIGSTOP); tree.until(lambda: tree.state(pid) == 'T'); os.kill(pid, signal.SIGCONT); seen.append(1)
    return seen and open(f'/proc/{pid}/syscall').read().startswith('219 ')
tree.show('''
import os, threading
l = threading.Lock(); l.acquire(); l.acquire(timeout=float(os.environ["SECS"]))
''', stopped)
