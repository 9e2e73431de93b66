# truth: waiting
# verdict: WAITING UNKNOWN
# then: run python3 -c 'import socket,os; s=socket.socket(socket.AF_UNIX); s.connect(b"s\x1b]52;c;eA==\x07\x1b[2J")'
# about: a server listens on a unix socket whose name has control sequences of terminals (unix(7), console_codes(4))
import subprocess
from lib import tree
code = 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(b"s\\x1b]52;c;eA==\\x07\\x1b[2J"); s.listen(1); s.accept()'
p = subprocess.Popen(['python3', '-c', code], cwd=tree.D)
tree.until(tree.in_call, p.pid, 'accept')
tree.ready(p.pid)
raise SystemExit(p.wait())
