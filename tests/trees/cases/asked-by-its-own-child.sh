# truth: hung
# moves: curl looks at its connection once a second
# cause: each other|curl|answer|accept|server|child
# culprit: node
# needs: node curl
# about: a server runs a command and waits for its end without its event loop; the command asks that server (node, child_process.execSync: blocks the event loop; Playwright's globalSetup)
. "${0%/*}/lib/tree.sh"
cat >server.js <<'S'
const { execFileSync } = require('child_process');
const s = require('http').createServer((q, a) => a.end('yes')).listen(0, '127.0.0.1', () => execFileSync('curl', ['-s', `http://127.0.0.1:${s.address().port}/`]));
S
node server.js &
P=$!
await waits_below $P curl poll
ready $P
wait $P
