# truth: healthy
# then: ends
# about: two processes wait for each other: one for a lock of the other, and that one for a word over a socket, for which it has a limit (flock(2); socket(7), SO_RCVTIMEO)
from lib import tree
tree.show('''
import fcntl, os, socket, struct
a, b = socket.socketpair(); f = open("lock", "w"); fcntl.flock(f, 2)
if os.fork() == 0:
    a.close(); f.close(); g = open("lock", "w"); fcntl.flock(g, 2); b.send(b"x"); os._exit(0)
b.close(); a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(float(os.environ["SECS"])), 0))
try: a.recv(1)
except BlockingIOError: pass
f.close(); os.wait()
''', lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'flock'))
