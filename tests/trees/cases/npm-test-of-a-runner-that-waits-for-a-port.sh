# truth: hung
# verdict: HUNG WAITING WORKING UNKNOWN
# cause: port|connect|127|poll|server|tries
# needs: npm curl node
# moves: the script looks each second
# about: `npm test` waits for a development server's port, and that server listens at another one, since its own was taken (npm-run-script; wait-on, start-server-and-test without a limit)
. "${0%/*}/lib/tree.sh"
export HOME=$D
cat >server.js <<'S'
const s = require('http').createServer((q, r) => r.end('ok'));
s.on('error', () => s.listen(0, '127.0.0.1', () => require('fs').writeFileSync('up', '')));
s.listen(Number(process.env.PORT), '127.0.0.1');
S
python3 -c 'import socket, time, os; s = socket.socket(); s.bind(("127.0.0.1", 0)); open("p", "w").write(str(s.getsockname()[1])); os.rename("p", "port"); time.sleep(1e6)' &
await test -s port
echo '{"name":"a","version":"1.0.0","scripts":{"test":"node server.js & until curl -sf http://127.0.0.1:$PORT/ >page; do sleep 1; done; kill $!"}}' >package.json
PORT=$(<port) npm test --silent >out 2>&1 &
P=$!
await test -e up
await waits_below $P sleep nanosleep
ready $P
wait $P
