# truth: healthy
# then: ends
# about: two threads of one program wait for each other's condition; a third, a daemon, waits in epoll for a timer (pthread_cond_wait(3p); timerfd_create(2))
from lib import tree, more
import os
tree.write('x', '')
tree.show('''
import ctypes, os, struct, threading, select
libc = ctypes.CDLL(None); t = libc.timerfd_create(1, 0); libc.timerfd_settime(t, 0, struct.pack("llll", 0, 0, int(float(os.environ["SECS"])), 1), None)
a, b = threading.Event(), threading.Event()
def one(): a.wait(); b.set()
def watch():
    p = select.epoll(); p.register(t, select.EPOLLIN); p.poll(); a.set()
threading.Thread(target=one).start(); threading.Thread(target=watch, daemon=True).start(); b.wait()
''', lambda pid: tree.in_call(pid, 'futex') and tree.any_in_call(pid, 'epoll'))
