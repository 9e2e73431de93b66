# truth: hung
# cause: stderr|standard error|full
# about: a server writes a long log to its stderr, which its client never reads, and waits for its answer (pipe(7))
from lib import tree
tree.show('''
import subprocess, sys
code = "import sys; sys.stdin.readline(); sys.stderr.write('x' * 200000); print('{}')"
p = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, stderr=-1)
p.stdin.write(b"{}\\n"); p.stdin.flush(); p.stdout.readline()
''', tree.child_in_call, 'write')
