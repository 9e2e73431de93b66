# truth: healthy
# then: ends
# needs: node
# about: a program waits at a port for its debugger, which a script of the same tree connects after a time and lets it run (node, --inspect-brk; Runtime.runIfWaitingForDebugger)
. "${0%/*}/lib/tree.sh"
echo 'require("fs").writeFileSync("ran", "")' >one.js
cat >harness.js <<'S'
const { spawn } = require('child_process');
const p = spawn('node', ['--inspect-brk=127.0.0.1:0', 'one.js'], { stdio: ['ignore', 'ignore', 'pipe'] });
let text = ''; p.stderr.on('data', d => { text += d; require('fs').writeFileSync('said', text); });
p.on('exit', c => process.exit(c));
setTimeout(() => {
  const [, host, port, path] = text.match(/ws:\/\/([\d.]+):(\d+)(\/\S+)/);
  const s = require('net').connect(port, host, () => s.write(`GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`));
  const say = m => { const b = Buffer.from(JSON.stringify(m)); const f = Buffer.concat([Buffer.from([0x81, 0x80 | b.length, 0, 0, 0, 0]), b]); s.write(f); };
  s.once('data', () => { say({ id: 1, method: 'Debugger.enable' }); say({ id: 2, method: 'Runtime.runIfWaitingForDebugger' });
    const go = setInterval(() => say({ id: 3, method: 'Debugger.resume' }), 200); setTimeout(() => { clearInterval(go); s.destroy(); }, 3000); });
}, 1000 * process.env.SECS + 1000);
S
node harness.js &
P=$!
await grep -q 'listening on' said
ready $P
wait $P
E=$?
[ -e ran ] && exit $E
