# truth: hung
# cause: descriptor|accept|peer|answer|listen|backlog|spin|poll|looks again
# moves: the server tries again each second
# about: accept(2) EMFILE: the server has as many descriptors as its limit allows and never closes one; it tries accept again each second, and its client waits for an answer in the backlog.
# certain: no
# later: 60 a silent peer
import subprocess, sys
from lib import tree
tree.write('s.py', """
import os, resource, socket, time
l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(9)
open('port', 'w').write(str(l.getsockname()[1]))
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)); k = []
try:
    while True: k.append(os.open('/dev/null', 0))
except OSError: pass
while True:
    try: l.accept()
    except OSError: time.sleep(1)
""")
s = subprocess.Popen([sys.executable, 's.py'], cwd=tree.D)
port = tree.until(lambda: open(tree.D + '/port').read())
c = subprocess.Popen([sys.executable, '-c', f"import socket; s=socket.create_connection(('127.0.0.1',{port})); s.sendall(b'x'); s.recv(9)"])
tree.until(tree.in_call, c.pid, 'recv'); tree.ready(c.pid); c.wait()
