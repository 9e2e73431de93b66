# truth: hung
# cause: pipe|output|open|end
# culprit: tail
# moves: tail looks again each second
# about: a client copies the output of a command in a container; the command is over, and a daemon that it started keeps the pipe open
from lib import tree
tree.show('''
import subprocess
p = subprocess.Popen(["sh", "-c", "setsid tail -f /dev/null & echo started"], stdout=-1)
p.stdout.readline(); p.stdout.read()
''', lambda pid: tree.in_call(pid, 'read') and tree.state(tree.children(pid)[0]) == 'Z')
