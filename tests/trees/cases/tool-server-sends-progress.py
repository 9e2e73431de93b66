# truth: healthy
# then: ends
# needs: node
# about: an agent's tool call is open; the server says its progress every two seconds and answers at the end (MCP, notifications/progress)
import os
import subprocess
from lib import tree
tree.write('server.js', '''
let n = 0;
process.stdin.once('data', () => {
  require('fs').writeFileSync('asked', '');
  const beat = setInterval(() => console.log(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: ++n } })), 2000);
  setTimeout(() => { clearInterval(beat); console.log('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'); }, 1000 * process.env.SECS);
});
process.stdin.on('end', () => process.exit(0));
''')
tree.write('agent.py', '''
import json, subprocess
p = subprocess.Popen(["node", "server.js"], stdin=-1, stdout=-1)
p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "build", "_meta": {"progressToken": 1}}}).encode() + b"\\n"); p.stdin.flush()
while "id" not in json.loads(p.stdout.readline()): pass
p.stdin.close(); p.wait()
''')
p = tree.start('claude', ['python3', 'agent.py', '-p', 'go'], cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(os.path.exists, f'{tree.D}/asked')
tree.ready(p.pid)
raise SystemExit(p.wait())
