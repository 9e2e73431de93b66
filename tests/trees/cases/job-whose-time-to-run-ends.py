# truth: healthy
# then: ends
# needs: beanstalkd
# about: beanstalkd's protocol.txt: a reserved job that is neither deleted nor touched within its TTR is released by the server; the waiting reserve of the second client then gets it.
import os, socket, subprocess, sys
from lib import tree
s = socket.socket(); s.bind(('127.0.0.1', 0)); port = s.getsockname()[1]; s.close()
d = subprocess.Popen(['beanstalkd', '-l', '127.0.0.1', '-p', str(port)])
def connect():
    return socket.create_connection(('127.0.0.1', port))
tree.until(connect)
a = connect(); a.sendall(b'put 1 0 %d 1\r\nx\r\n' % max(1, tree.SECS)); a.recv(99); a.sendall(b'reserve\r\n'); a.recv(99)
c = subprocess.Popen([sys.executable, '-c', f"import socket; s=socket.create_connection(('127.0.0.1',{port})); s.sendall(b'reserve\\r\\n'); print(s.recv(99))"])
tree.until(tree.in_call, c.pid, 'recv')
tree.ready(c.pid)
r = c.wait(); d.terminate(); d.wait(); sys.exit(r)
