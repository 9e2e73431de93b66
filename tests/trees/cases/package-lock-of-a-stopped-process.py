# truth: hung
# cause: lock|stopped
# culprit: stopped|SIGCONT|-CONT|holds
# later: 15 the one who stopped it may let it go on
# about: a package tool waits for a record lock; the process that has it was stopped by a signal (fcntl(2), signal(7))
from lib import tree
tree.show('''
import fcntl, os, signal
f = open("lock", "w"); r, w = os.pipe()
if os.fork() == 0:
    fcntl.lockf(f, fcntl.LOCK_EX); os.write(w, b"x"); os.kill(os.getpid(), signal.SIGSTOP); os._exit(0)
os.read(r, 1); fcntl.lockf(f, fcntl.LOCK_EX)
''', lambda pid: tree.in_call(pid, 'fcntl') and tree.state(tree.children(pid)[0]) == 'T')
