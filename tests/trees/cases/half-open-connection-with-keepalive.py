# truth: healthy
# then: ends
# needs: root
# about: the other end of a connection is gone without a word; the kernel's probe finds that after a time, and the read fails (tcp(7), SO_KEEPALIVE, TCP_KEEPIDLE; TCP_REPAIR closes without a word)
from lib import tree
tree.show('''
import os, socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1)
c = socket.create_connection(l.getsockname()); s, _ = l.accept()
c.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(float(os.environ["SECS"])))
s.setsockopt(socket.IPPROTO_TCP, 19, 1); s.close(); l.close()
try: c.recv(9)
except ConnectionResetError: os._exit(0)
os._exit(3)
''', lambda pid: tree.in_call(pid, 'recv'))
