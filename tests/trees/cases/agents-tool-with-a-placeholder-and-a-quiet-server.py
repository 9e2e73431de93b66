# truth: healthy
# then: ends
# needs: node
# about: an agent's tool has a helper that pauses, and waits for the answer of a server outside of the tree, which works on it for a time (a build service); then it ends both (pause(2), unix(7))
import os, subprocess, sys
from lib import tree, more
more.foreign('''
import os, socket, time
os.chdir("%s"); s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); open("up", "w"); c, _ = s.accept(); c.recv(9); open("asked", "w"); time.sleep(float(os.environ["SECS"])); c.send(b"answer")
''' % tree.D)
tree.until(more.there, 'up')
tree.write('tool.py', '''
import os, signal, socket
k = os.fork()
if k == 0: signal.pause()
s = socket.socket(socket.AF_UNIX); s.connect("run"); s.send(b"ask"); s.recv(9)
os.kill(k, 9); os.wait()
''')
p = tree.agent('codex', 'exec', 'go', do={'tools': [['python3', 'tool.py']], 'end': True}, cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(more.there, 'asked')
tree.ready(p.pid)
sys.exit(p.wait())
