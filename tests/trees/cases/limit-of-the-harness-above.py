# truth: healthy
# then: ends 9
# about: a harness gives a command a limit, and the question is about a process of the command (Python, subprocess.run with timeout: the child is killed)
import os
import subprocess
import sys
from lib import tree
os.mkfifo(f'{tree.D}/in')
harness = subprocess.Popen(['python3', '-c', '''
import os, subprocess, sys
try: subprocess.run(["bash", "-c", "exec 3<>in; exec cat <&3"], timeout=float(os.environ["SECS"]), stdin=subprocess.DEVNULL)
except subprocess.TimeoutExpired: sys.exit(9)
'''], cwd=tree.D)
tree.until(lambda: tree.below(harness.pid, 'cat'))
pid = tree.below(harness.pid, 'cat')
tree.until(tree.in_call, pid, 'read')
tree.ready(pid)
sys.exit(harness.wait())
