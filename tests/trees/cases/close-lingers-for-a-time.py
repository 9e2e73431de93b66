# truth: healthy
# then: ends
# about: close(2) of a connection waits until its data is sent, for at most a limit: the peer, a child, never reads (socket(7), SO_LINGER)
from lib import tree, more
tree.show('''
import os, socket, struct, signal
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1)
if os.fork() == 0:
    c, _ = l.accept(); signal.pause()
s = socket.create_connection(l.getsockname()); l.close(); s.setblocking(False)
try:
    while True: s.send(b"x" * 65536)
except BlockingIOError: pass
s.setblocking(True); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, int(float(os.environ["SECS"]))))
s.close(); os._exit(0)
''', lambda pid: more.number(pid) == 3)
