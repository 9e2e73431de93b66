# truth: healthy
# then: ends
# needs: socat
# about: a client's connection goes through a bridge to a program that answers after a time (socat(1), TCP-LISTEN and EXEC)
import os
import socket
import subprocess
import sys
from lib import tree
with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    port = free.getsockname()[1]
tree.write('far.sh', 'read x\n: >works\nsleep "$SECS"\necho y\n')
tree.write('port', str(port))
subprocess.Popen(['socat', f'TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork', 'EXEC:sh far.sh'], cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(lambda: f' 0100007F:{port:04X} 00000000:0000 0A ' in open('/proc/net/tcp').read())
p = subprocess.Popen(['python3', '-c', f'import socket; s = socket.create_connection(("127.0.0.1", {port})); s.sendall(b"x\\n"); assert s.recv(9) == b"y\\n"'], cwd=tree.D)
tree.until(os.path.exists, f'{tree.D}/works')
tree.until(tree.in_call, p.pid, 'recv')
tree.ready(p.pid)
sys.exit(p.wait())
