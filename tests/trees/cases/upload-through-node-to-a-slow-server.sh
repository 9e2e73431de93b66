# truth: healthy
# then: ends
# needs: node
# about: an agent's tool sends its producer's output to a server outside of the tree, which takes a time over the first bytes and then reads all; the producer waits in a full pipe (node, stream.pipe: backpressure)
. "${0%/*}/lib/tree.sh"
(setsid python3 "$LIB/lazy.py" "$D/port" </dev/null >/dev/null 2>&1 &)
await test -s port
cat >pipe.js <<'S'
const s = require('net').connect(+process.argv[2], '127.0.0.1'); s.on('data', () => {}); s.on('close', () => process.exit(0));
const p = require('child_process').spawn('head', ['-c', '40000000', '/dev/zero'], { stdio: ['ignore', 'pipe', 'inherit'] }); p.stdout.pipe(s);
S
DO="{\"tools\":[[\"node\",\"pipe.js\",\"$(<port)\"]],\"end\":true}" agent claude -p go </dev/null &
A=$!
await waits_below $A head write
sleep 1
ready $A
wait $A
