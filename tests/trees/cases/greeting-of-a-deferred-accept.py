# truth: healthy
# then: ends
# about: a client waits for its server's greeting, and the server in accept(2) for a connection with data; after its limit it gets the connection without any, and greets (tcp(7), TCP_DEFER_ACCEPT: seconds)
from lib import tree
tree.show('''
import os, socket
l = socket.socket(); l.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, min(250, int(float(os.environ["SECS"])))); l.bind(("127.0.0.1", 0)); l.listen(1)
if os.fork() == 0:
    c, _ = l.accept(); c.send(b"hello"); os._exit(0)
s = socket.create_connection(l.getsockname()); l.close(); s.recv(9); os.wait()
''', lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'accept'))
