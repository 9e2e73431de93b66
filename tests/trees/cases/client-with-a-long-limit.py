# truth: healthy
# then: ends 6
# about: a client has sent its request, and waits for the answer at most for a limit of its own (socket, settimeout)
import subprocess
import sys
from lib import tree
if len(sys.argv) > 1:
    import socket
    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=tree.SECS)
    s.sendall(b'GET / HTTP/1.1\r\n\r\n')
    try:
        s.recv(9)
    except TimeoutError:
        sys.exit(6)
    sys.exit(0)
server = subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'silent', f'{tree.D}/port'], start_new_session=True)
tree.until(lambda: open(f'{tree.D}/port').read())
p = subprocess.Popen(['python3', __file__, open(f'{tree.D}/port').read()])
tree.until(tree.in_call, p.pid, 'poll')
tree.ready(p.pid)
left = p.wait()
server.kill()
sys.exit(left)
