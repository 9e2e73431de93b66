# truth: healthy
# then: ends
# needs: node
# about: an agent's command starts a server and follows its log until the first line that says `ready`, which comes after a time: tail ends with its reader (tail(1), grep(1), -m)
import subprocess
import sys
from lib import tree
tree.write('log', '')
run = '(sleep "$SECS"; echo ready now >>log; exec sleep 900) >/dev/null 2>&1 </dev/null & S=$!; tail -n +1 -f log | grep -m1 ready; kill $S; exit 0'
p = tree.agent('claude', '-p', 'go', do={'tools': [['bash', '-c', run]], 'end': True}, cwd=tree.D, stdin=subprocess.DEVNULL)
found = tree.until(tree.below, p.pid, 'grep')
tree.until(tree.in_call, found, 'read')
tree.ready(p.pid)
sys.exit(p.wait())
