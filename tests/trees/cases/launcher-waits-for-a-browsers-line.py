# truth: hung
# verdict: HUNG WAITING
# cause: stderr|line|write|pipe|output|node
# about: a launcher reads a browser's stderr for the line of its port; the browser listens and never says it (Chromium, remote debugging)
from lib import tree
tree.show('''
import subprocess, sys
code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(5); s.accept()"
p = subprocess.Popen(["chrome", "-c", code], executable=sys.executable, stdin=subprocess.DEVNULL, stderr=-1)
p.stderr.readline()
''', tree.child_in_call, 'accept', 'poll')
