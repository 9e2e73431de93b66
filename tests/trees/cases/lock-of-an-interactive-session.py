# truth: healthy
# then: ends
# needs: node
# about: an agent keeps a shell's stdin open to write to it later, and that shell has a lock, for which a second tool waits; the agent has posted a request to its model, whose answer comes after a time, and ends (Codex, exec_command and write_stdin; flock(1))
import os, subprocess, sys
from lib import tree, more
os.environ['SECS'] = str(tree.SECS + 4)
server = subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'late', f'{tree.D}/port'], start_new_session=True)
tree.until(more.there, 'port')
do = {'model': int(open(f'{tree.D}/port').read()), 'end': True, 'tools': [{'cmd': ['flock', 'lock', 'bash', '-c', 'touch has; exec bash'], 'stdio': ['pipe', 'pipe', 'pipe']},
      ['bash', '-c', 'until [ -e has ]; do sleep .1; done; exec flock lock true']]}
p = tree.agent('codex', 'exec', 'go', do=do, cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(lambda: len([c for c in tree.children(p.pid) if open(f'/proc/{c}/comm').read() == 'flock\n']) == 2 and any(tree.in_call(c, 'flock') for c in tree.children(p.pid)))
tree.ready(p.pid)
code = p.wait(); server.kill(); sys.exit(code)
