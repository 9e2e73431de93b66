# truth: healthy
# then: ends
# needs: node
# about: an agent's tool is a runner that has started a server and a test, and ends the server when the test has ended (Playwright, webServer)
. "${0%/*}/lib/tree.sh"
echo 'require("http").createServer((q, a) => a.end("yes")).listen(0, "127.0.0.1", () => require("fs").writeFileSync("up", ""))' >server.js
cat >runner.js <<'S'
const { spawn } = require('child_process');
const server = spawn('node', ['server.js'], { stdio: ['ignore', 'pipe', 'pipe'] });
const begin = setInterval(() => {
  if (!require('fs').existsSync('up')) return;
  clearInterval(begin);
  spawn('bash', ['-c', 'sleep "$SECS"; exit'], { stdio: ['ignore', 'pipe', 'pipe'] }).on('close', code => { server.kill(); process.exit(code); });
  require('fs').writeFileSync('begun', '');
}, 50);
S
DO='{"tools":[["node","runner.js"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e begun
await below $A sleep
ready $A
wait $A
