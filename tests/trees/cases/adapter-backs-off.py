# truth: healthy
# then: ends
# needs: node
# about: an adapter was told to come back later and waits on a timer of its own; its client reads the answer and has nothing else to do
import json
import subprocess
import sys
from lib import tree
tree.write('adapter.js', '''
process.stdin.once('data', () => setTimeout(() => {
  process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}\\n');
  process.exit(0);
}, process.env.SECS * 1000));
''')
p = tree.start('claude-agent-acp', ['node', f'{tree.D}/adapter.js'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'session/prompt', 'params': {}}).encode() + b'\n')
p.stdin.flush()
tree.until(tree.in_call, p.pid, 'epoll')
tree.ready(p.pid)
p.stdout.readline()
sys.exit(p.wait())
