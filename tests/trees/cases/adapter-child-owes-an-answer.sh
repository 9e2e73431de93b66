# truth: hung
# cause: answer|request|control
# not: /dev/null
# certain: no
# needs: node
# about: an editor waits for an adapter's answer, the adapter for a control request's answer of its child, which never says it
. "${0%/*}/lib/tree.sh"
cat >editor.py <<'S'
import json, subprocess, os
from shlex import split
p = subprocess.Popen(['bash', '-c', 'echo $$ >adapter; exec -a claude-agent-acp node adapter.js'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'session/new', 'params': {'cwd': '/', 'mcpServers': []}}).encode() + b'\n')
p.stdin.flush()
p.stdout.readline()
S
cat >adapter.js <<'S'
const { spawn } = require('child_process');
process.stdin.once('data', () => {
  const child = spawn('bash', ['-c', 'exec -a claude node child.js --input-format stream-json --output-format stream-json --verbose'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdout.on('data', () => {});
  child.stdin.write('{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\n');
});
S
echo 'process.stdin.on("data", () => require("fs").writeFileSync("asked", "")); setTimeout(() => {}, 1e9)' >child.js
named zed python3 editor.py &
await test -e asked
ready "$(<adapter)"
wait
