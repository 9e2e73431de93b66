# truth: waiting
# then: run exec 3<>/dev/tcp/127.0.0.1/$(cat $D/port); printf 'POST /shutdown HTTP/1.0\r\n\r\n' >&3; cat <&3
# needs: node
# about: an agent serves its interface and waits for a client's first request; its idle tool server has answered `initialize` (opencode serve; MCP, stdio transport)
. "${0%/*}/lib/tree.sh"
echo 'process.stdin.on("data", () => { console.log(`{"jsonrpc":"2.0","id":0,"result":{}}`); }); process.stdin.on("end", () => process.exit(0));' >mcp.js
cat >agent.js <<'S'
const tool = require('child_process').spawn('node', ['mcp.js'], { stdio: ['pipe', 'pipe', 'inherit'] });
tool.stdin.write('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n');
tool.stdout.once('data', () => {
  const s = require('http').createServer((q, a) => { a.end('{}'); if (q.url === '/shutdown') process.exit(0); });
  s.listen(0, '127.0.0.1', () => { require('fs').writeFileSync('port.new', String(s.address().port)); require('fs').renameSync('port.new', 'port'); });
});
S
named opencode node agent.js serve </dev/null &
A=$!
await test -s port
await in_call $A epoll
ready $A
wait $A
