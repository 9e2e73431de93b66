# truth: hung
# cause: pipe|itself|nobody
# culprit: python3
# needs: node
# about: an agent waits for its only tool, which reads a pipe of its own; its connection to the model is idle, the last answer is complete (RFC 9112, 9.3 Persistence; pipe(7))
import os, subprocess, sys
from lib import tree, more
server = subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'answered', f'{tree.D}/port'], start_new_session=True)
tree.until(more.there, 'port')
job = 'import os; r, w = os.pipe(); os.read(r, 1)'
p = tree.agent('claude', '-p', 'go', do={'model': int(open(f'{tree.D}/port').read()), 'tools': [['python3', '-c', job]]}, stdin=subprocess.DEVNULL)
found = tree.until(tree.below, p.pid, 'python3')
tree.until(tree.in_call, found, 'read')
tree.ready(p.pid)
p.wait()
