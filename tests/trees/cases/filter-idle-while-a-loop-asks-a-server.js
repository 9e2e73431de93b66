// truth: healthy
// then: ends
// about: a program in an event loop keeps a filter for its report, and waits for a server's answer, which takes its time (node, child_process and net)
const { D, ready, until, comm } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
if (process.argv[2]) {
  const filter = spawn('cat', { stdio: ['pipe', 'ignore', 'inherit'] });
  const s = require('net').connect(process.argv[2], '127.0.0.1', () => s.write('GET / HTTP/1.1\r\n\r\n'));
  s.once('data', () => { s.destroy(); filter.stdin.end('over\n'); });
  s.on('connect', () => fs.writeFileSync(`${D}/filter`, String(filter.pid)));
} else {
  const far = spawn('python3', [`${__dirname}/lib/server.py`, 'late', `${D}/port`], { stdio: 'ignore', detached: true });
  until(() => fs.existsSync(`${D}/port`), () => {
    const p = spawn('node', [__filename, fs.readFileSync(`${D}/port`, 'utf8')], { stdio: ['ignore', 'inherit', 'inherit'] });
    p.on('exit', code => { far.kill(); process.exit(code); });
    until(() => comm(fs.readFileSync(`${D}/filter`, 'utf8')) === 'cat', () => ready(p.pid));
  });
}
