# truth: healthy
# then: ends
# about: a daemon reads its self-pipe; SIGIO's handler writes to it when the peer of a connection, outside of its tree, says something after a time (fcntl(2), O_ASYNC; unix(7))
from lib import tree
tree.show('''
import fcntl, os, signal, socket, time
a, b = socket.socketpair(); r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w); signal.signal(signal.SIGIO, lambda *x: None)
if os.fork() == 0:
    a.close(); os.close(r); os.close(w); os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); b.send(b"x"); time.sleep(1); os._exit(0)
os.wait(); b.close(); fcntl.fcntl(a, fcntl.F_SETOWN, os.getpid()); fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_RDWR)
os.read(r, 1)
''', tree.in_call, 'read')
