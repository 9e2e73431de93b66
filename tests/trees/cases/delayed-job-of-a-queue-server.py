# truth: healthy
# then: ends
# needs: beanstalkd
# about: beanstalkd's protocol.txt: a job that is put with a delay becomes ready after that many seconds; the producer has gone, and the waiting reserve gets it from the server's own timer.
import os, socket, subprocess, sys
from lib import tree
s = socket.socket(); s.bind(('127.0.0.1', 0)); port = s.getsockname()[1]; s.close()
d = subprocess.Popen(['beanstalkd', '-l', '127.0.0.1', '-p', str(port)])
def connect():
    return socket.create_connection(('127.0.0.1', port))
tree.until(connect)
a = connect(); a.sendall(b'put 1 %d 60 1\r\nx\r\n' % max(1, tree.SECS)); a.recv(99); a.close()
c = subprocess.Popen([sys.executable, '-c', f"import socket; s=socket.create_connection(('127.0.0.1',{port})); s.sendall(b'reserve\\r\\n'); print(s.recv(99))"])
tree.until(tree.in_call, c.pid, 'recv')
tree.ready(c.pid)
r = c.wait(); d.terminate(); d.wait(); sys.exit(r)
