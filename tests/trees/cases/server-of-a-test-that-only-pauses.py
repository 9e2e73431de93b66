# truth: healthy
# then: ends
# needs: node
# about: an agent's tool starts a helper that pauses (a container's pause process), and computes for a time; then it ends both (pause(2))
import os, subprocess, sys
from lib import tree, more
tree.write('tool.py', '''
import os, signal, time
k = os.fork()
if k == 0:
    signal.pause()
end = time.time() + float(os.environ["SECS"]); open("begun", "w")
while time.time() < end: sum(range(10000))
os.kill(k, 9); os.wait()
''')
p = tree.agent('claude', '-p', 'go', do={'tools': [['python3', 'tool.py']], 'end': True}, cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(more.there, 'begun')
tree.ready(p.pid)
sys.exit(p.wait())
