// truth: healthy
// then: ends 9
// about: a host's limit ends a tool that reads the stdin which the host keeps open (node, child_process.spawn, timeout)
const { D, SECS, ready, until, comm } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
if (process.argv[2]) {
  const p = spawn('cat', { timeout: SECS * 1000, stdio: ['pipe', 'pipe', 'pipe'] });
  p.on('exit', (code, signal) => process.exit(signal === 'SIGTERM' ? 9 : 1));
  fs.writeFileSync(`${D}/tool`, String(p.pid));
} else {
  const p = spawn('node', [__filename, 'host'], { stdio: ['ignore', 'inherit', 'inherit'] });
  p.on('exit', code => process.exit(code));
  until(() => comm(fs.readFileSync(`${D}/tool`, 'utf8')) === 'cat', () => ready(p.pid));
}
