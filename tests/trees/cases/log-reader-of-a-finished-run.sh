# truth: hung
# cause: pipe|open|held|holds|keep|output
# culprit: server\.py|python3
# needs: node
# about: an agent's print mode is over; the tool server that it started has its stdout and serves on, and tee reads to the end (pipe(7))
. "${0%/*}/lib/tree.sh"
cat >server.py <<'S'
import socket
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(4); open("serves", "w").close(); listener.accept()
S
cat >claude.js <<'S'
const server = require('child_process').spawn('python3', ['server.py'], { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
server.unref();
const wait = setInterval(() => { if (require('fs').existsSync('serves')) { console.log('done'); process.exit(0); } }, 20);
S
bash -c 'bash -c "exec -a claude node claude.js -p go" </dev/null | tee log; exit 0' &
P=$!
await grep -q done log
await waits_below $P tee read
ready $P
wait $P
