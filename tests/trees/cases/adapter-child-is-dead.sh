# truth: hung
# verdict: HUNG WAITING
# cause: answer|request|child
# not: /dev/null
# certain: no
# needs: node
# about: an adapter's child has exited with 143; the adapter takes the editor's prompt and never answers it
. "${0%/*}/lib/tree.sh"
cat >adapter.js <<'S'
const fs = require('fs');
const child = require('child_process').spawn('bash', ['-c', 'exit 143'], { stdio: ['pipe', 'pipe', 'inherit'] });
child.stdin.on('error', () => {});
let gone = false;
child.on('exit', () => { gone = true; });
process.stdin.on('data', () => setInterval(() => { if (gone) fs.writeFileSync('taken', ''); }, 100));
setTimeout(() => {}, 1 << 30);
S
sed -i "s/setInterval(() => { if (gone) fs.writeFileSync('taken', ''); }, 100)/child.exitCode === null ? child.on('exit', () => fs.writeFileSync('taken', '')) : fs.writeFileSync('taken', '')/" adapter.js
cat >editor.py <<'S'
import json, subprocess
p = subprocess.Popen(['bash', '-c', 'echo $$ >adapter; exec -a claude-agent-acp node adapter.js'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(json.dumps({'jsonrpc': '2.0', 'id': 3, 'method': 'session/prompt'}).encode() + b'\n'); p.stdin.flush(); p.stdout.readline()
S
named zed python3 editor.py &
await test -e taken
ready "$(<adapter)"
wait
