# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run exec 3<>/dev/tcp/127.0.0.1/$(cat $D/port); printf 'POST /shutdown HTTP/1.0\r\n\r\n' >&3; cat <&3
# needs: node npm
# about: an agent serves its interface and waits for a client's next request; its tool server behind `npm exec` has answered it once and is idle (opencode serve; MCP, stdio transport)
. "${0%/*}/lib/tree.sh"
export HOME=$D npm_config_update_notifier=false
cat >server.js <<'J'
require('readline').createInterface({ input: process.stdin }).on('line', line =>
  console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: {} })));
J
cat >host.mjs <<'J'
import { spawn } from 'child_process';
import fs from 'fs';
import http from 'http';
const tool = spawn("npm", ["exec", "--no", "-c", "node server.js"], { stdio: ['pipe', 'pipe', 'ignore'] });
tool.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
tool.stdout.once('data', () => {
  const s = http.createServer((q, a) => { a.end('{}'); if (q.url === '/shutdown') process.exit(0); });
  s.listen(0, '127.0.0.1', () => { fs.writeFileSync('port.new', String(s.address().port)); fs.renameSync('port.new', 'port'); });
});
J
named opencode node host.mjs serve </dev/null &
A=$!
await test -s port
await in_call $A epoll
ready $A
wait $A
