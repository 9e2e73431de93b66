# truth: healthy
# then: ends
# needs: node
# about: an agent waits for its model's answer, which comes after a time; a job that it forgot reads a pipe of nobody (RFC 9110, 9.3.3 POST)
import os, subprocess, sys
from lib import tree, more
server = subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'late', f'{tree.D}/port'], start_new_session=True)
tree.until(more.there, 'port')
job = 'import os; r, w = os.pipe(); os.read(r, 1)'
p = tree.agent('claude', '-p', 'go', do={'model': int(open(f'{tree.D}/port').read()), 'end': True, 'tools': [['python3', '-c', job]]}, stdin=subprocess.DEVNULL)
found = tree.until(tree.below, p.pid, 'python3')
tree.until(tree.in_call, found, 'read')
tree.ready(p.pid)
code = p.wait(); os.kill(found, 9); server.kill(); sys.exit(code)
