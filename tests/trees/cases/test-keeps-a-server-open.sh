# truth: hung
# verdict: HUNG WAITING
# cause: listen|port|open|server|test
# culprit: one\.test
# certain: no
# needs: node
# moves: an HTTP server of node looks at its connections each 30 s
# about: a test has passed and left a server listening, so that its process never ends, and the runner waits for that (node --test: each file is a process; net.Server keeps the event loop alive)
. "${0%/*}/lib/tree.sh"
cat >one.test.js <<'S'
const http = require('http');
require('node:test')('answers', async () => {
  const server = http.createServer((q, a) => a.end('yes')).listen(0, '127.0.0.1');
  await new Promise(done => server.on('listening', done));
  await (await fetch(`http://127.0.0.1:${server.address().port}/`, { headers: { connection: 'close' } })).text();
  require('fs').writeFileSync(process.env.D + '/passed', '');
});
S
node --test one.test.js >log 2>&1 </dev/null &
P=$!
await test -e passed
idle() { below $P node && in_call "$CHILD" epoll && in_call $P epoll; }
await idle
ready $P
wait $P
