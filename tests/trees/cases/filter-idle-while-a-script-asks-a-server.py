# truth: healthy
# then: ends
# about: a script keeps a filter for its report, and waits for a server's answer, which takes its time (subprocess, Popen.stdin)
import subprocess
import sys
from lib import tree
if len(sys.argv) == 1:
    server = subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'late', f'{tree.D}/port'], start_new_session=True)
    tree.until(lambda: open(f'{tree.D}/port').read())
    p = subprocess.Popen(['python3', __file__, open(f'{tree.D}/port').read()])
    tree.until(lambda: tree.in_call(p.pid, 'recv') and tree.child_in_call(p.pid, 'read'))
    tree.ready(p.pid)
    left = p.wait()
    server.kill()
    sys.exit(left)
import socket
p = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(b'GET / HTTP/1.1\r\n\r\n')
assert s.recv(999).startswith(b'HTTP/1.1 200')
p.communicate(b'over\n')
