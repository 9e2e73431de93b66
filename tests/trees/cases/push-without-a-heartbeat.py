# truth: healthy
# then: ends
# about: a client of a push service has a connection without any heartbeat; the service, outside of the tree, sends its first news after a time (RFC 6455: pings are optional)
import os
from lib import tree, more
more.foreign('''
import os, socket, time
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1); os.chdir("%s"); open("p", "w").write(str(l.getsockname()[1])); os.rename("p", "port")
c, _ = l.accept(); c.recv(999); c.send(b"HTTP/1.1 101 Switching Protocols\\r\\n\\r\\n"); time.sleep(float(os.environ["SECS"])); c.send(b"\\x81\\x04news")
''' % tree.D)
tree.until(more.there, 'port')
tree.show('''
import socket
s = socket.create_connection(("127.0.0.1", int(open("port").read()))); s.send(b"GET /push HTTP/1.1\\r\\nUpgrade: websocket\\r\\n\\r\\n"); s.recv(99); s.recv(99)
''', tree.in_call, 'recv')
