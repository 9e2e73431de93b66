# truth: hung
# verdict: HUNG WAITING
# cause: connection|socket|other end|127\.0\.0\.1
# needs: root
# about: the other end of a connection is gone without a word, and nothing is sent that could find that (tcp(7): no SO_KEEPALIVE; TCP_REPAIR closes without a word, as a NAT or a crash does)
from lib import tree
tree.show('''
import socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1)
c = socket.create_connection(l.getsockname()); s, _ = l.accept()
s.setsockopt(socket.IPPROTO_TCP, 19, 1); s.close(); l.close()
c.recv(9)
''', lambda pid: tree.in_call(pid, 'recv'))
