# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: notify|socket|service|listen|child|python3
# certain: no
# about: a manager reads its notification socket without a limit; its service serves and never says READY=1 (sd_notify(3))
from lib import tree
tree.show('''
import socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("notify")
code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(5); s.accept()"
p = subprocess.Popen([sys.executable, "-c", code]); s.recv(99)
''', tree.child_in_call, 'accept')
