# truth: healthy
# then: ends
# about: a child's pipe of errors is full; its parent first runs a command that computes for a time, and then reads all (subprocess; pipe(7), pipe capacity)
from lib import tree
tree.show('''
import subprocess, sys
p = subprocess.Popen([sys.executable, "-c", "import sys; sys.stderr.write('x' * 200000)"], stderr=-1)
subprocess.run([sys.executable, "-S", "-c", "import os, time\\nt = time.time() + float(os.environ['SECS'])\\nwhile time.time() < t: pass"])
p.communicate(); sys.exit(p.returncode)
''', lambda pid: len(tree.children(pid)) == 2 and tree.child_in_call(pid, 'write'))
