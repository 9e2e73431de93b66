# truth: healthy
# then: ends
# needs: node
# about: an agent's tool has a full pipe of output; the agent computes in its loop for a time (a diff, a tokenizer) and then reads all (node, child_process; pipe(7))
. "${0%/*}/lib/tree.sh"
cat >agent.js <<'S'
const { spawn } = require('child_process');
const p = spawn('python3', ['-c', 'import sys; sys.stdout.write("x" * 2000000)'], { stdio: ['ignore', 'pipe', 'inherit'] });
p.stdout.on('data', () => {}); p.on('close', c => process.exit(c));
setTimeout(() => { require('fs').writeFileSync('begun', ''); const end = Date.now() + 1000 * process.env.SECS; while (Date.now() < end); }, 5);
S
bash -c 'exec -a claude node agent.js -p go' </dev/null &
A=$!
await test -e begun
sleep 1
ready $A
wait $A
