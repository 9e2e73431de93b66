# truth: healthy
# then: ends
# about: a container's shim adopts orphans, takes SIGCHLD from a signalfd in its loop, and copies the output (prctl(2), PR_SET_CHILD_SUBREAPER)
from lib import tree
tree.show('''
import ctypes, os, select, signal, subprocess
ctypes.CDLL(None).prctl(36, 1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w); signal.signal(signal.SIGCHLD, lambda *_: None)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
p = subprocess.Popen(["sh", "-c", "(sleep $SECS; echo late) & echo early"], stdout=-1)
loop = select.epoll(); loop.register(p.stdout, select.EPOLLIN); loop.register(r, select.EPOLLIN)
while True:
    for fd, _ in loop.poll():
        if fd == r:
            os.read(r, 99)
            try:
                while os.waitpid(-1, os.WNOHANG) != (0, 0): pass
            except ChildProcessError: raise SystemExit(0)
        elif not os.read(fd, 999): loop.unregister(fd)
''', lambda pid: tree.below(pid, 'sleep') and tree.in_call(pid, 'epoll'))
