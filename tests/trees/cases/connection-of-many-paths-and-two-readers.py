# truth: hung
# cause: each other|both|connection|socket|peer
# if: [ "$(cat /proc/sys/net/mptcp/enabled)" = 1 ]
# about: a client waits for its server's greeting, and the server, its child, for the client's first word, over Multipath TCP (RFC 8684)
from lib import tree
tree.show('''
import os, socket, time
l = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); l.bind(("127.0.0.1", 0)); l.listen(1)
if os.fork() == 0:
    c, _ = l.accept(); l.close(); c.recv(9); c.sendall(b"answer"); os._exit(0)
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.connect(l.getsockname()); l.close(); s.recv(9); os.wait()
''', lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'recv'))
