# An agent that serves its interface and waits for a client's next request, beside an idle tool server that has answered it once.
# The words start `node server.js`.
agent_with_an_idle_server() {
    cat >server.js <<'J'
require('readline').createInterface({ input: process.stdin }).on('line', line =>
  console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: {} })));
J
    cat >host.mjs <<'J'
import { spawn } from 'child_process';
import fs from 'fs';
import http from 'http';
const [command, ...args] = JSON.parse(process.env.TOOL);
const tool = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
tool.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
tool.stdout.once('data', () => {
  const s = http.createServer((q, a) => { a.end('{}'); if (q.url === '/shutdown') process.exit(0); });
  s.listen(0, '127.0.0.1', () => { fs.writeFileSync('port.new', String(s.address().port)); fs.renameSync('port.new', 'port'); });
});
J
    TOOL=$(python3 -S -c 'import json,sys;print(json.dumps(sys.argv[1:]))' "$@") named opencode node host.mjs serve </dev/null &
    A=$!
    await test -s port
    await in_call $A epoll
    ready $A
    wait $A
}
