# truth: hung
# cause: pipe|full|stdout|output
# about: a parent waits for its child's end and does not read the pipe of its output (subprocess, Popen.wait: note on deadlocks)
from lib import tree
tree.show('import subprocess, sys\np = subprocess.Popen([sys.executable, "-c", "print(\'x\' * 200000)"], stdout=-1); p.wait()', tree.child_in_call, 'write')
