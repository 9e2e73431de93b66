// truth: waiting
// verdict: WAITING UNKNOWN
// then: run exec 3<>/dev/tcp/127.0.0.1/$(cat $D/port); printf 'GET /end HTTP/1.1\r\nHost: a\r\n\r\n' >&3; cat <&3
// about: an HTTP server has answered a client that keeps its connection, and waits for the next request (RFC 9112, 9.3 Persistence)
const { D, ready } = require('./lib/tree.js');
const { spawn } = require('child_process');
const server = `const fs = require('fs'); const s = require('http').createServer((q, r) => { r.end('{}'); if (q.url === '/end') setTimeout(process.exit, 50, 0); });
  s.keepAliveTimeout = 0; s.listen(0, '127.0.0.1', () => { fs.writeFileSync(process.env.D + '/port', String(s.address().port)); console.log('up'); });`;
const far = spawn('node', ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] });
far.on('exit', code => process.exit(code));
far.stdout.once('data', () => {
  const near = require('net').connect(require('fs').readFileSync(`${D}/port`, 'utf8'), '127.0.0.1', () => near.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  near.on('error', () => {});
  near.once('data', () => ready(far.pid));
});
