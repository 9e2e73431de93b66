# truth: hung
# verdict: HUNG WAITING
# cause: zombie|namespace|reap|collect|ended|unshare
# certain: no
# needs: root unshare nsenter
# about: the first process of a PID namespace has ended and waits in the kernel for every process of it to be reaped; one that came in from outside is a zombie, and its parent never reaps it (pid_namespaces(7), setns(2))
import os
import subprocess
import sys
from lib import tree
p = subprocess.Popen(['unshare', '--fork', '--pid', 'sh', '-c', 'exec 3<>go; read x <&3; exit 0'], cwd=os.mkfifo(f'{tree.D}/go') or tree.D)
tree.until(lambda: tree.children(p.pid) and tree.in_call(tree.children(p.pid)[0], 'read'))
first = tree.children(p.pid)[0]
q = subprocess.Popen(['python3', '-c', '''
import ctypes, os, signal, sys
fd = os.open(f"/proc/{sys.argv[1]}/ns/pid", os.O_RDONLY)
if ctypes.CDLL(None).setns(fd, 0): os._exit(9)
if os.fork() == 0:
    signal.pause()
open("inside", "w").close(); signal.pause()
''', str(first)], cwd=tree.D)
tree.until(os.path.exists, f'{tree.D}/inside')
tree.until(lambda: tree.child_in_call(q.pid, 'pause'))
zombie = tree.children(q.pid)[0]
with open(f'{tree.D}/go', 'w') as f:
    f.write('x\n')
    f.flush()
    tree.until(lambda: tree.state(zombie) == 'Z')
    tree.until(tree.in_call, p.pid, 'wait')
tree.ready(p.pid)
sys.exit(p.wait())
