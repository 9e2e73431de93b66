// truth: healthy
// then: ends
// about: an agent's program starts itself anew with more memory, with an IPC channel and its own stdio, and waits for that child, which has asked a model outside of its tree and is answered after a time (node, child_process.spawn, stdio 'ipc'; --max-old-space-size)
const { D, SECS, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
if (process.argv[2] === 'agent') {
  const port = Number(fs.readFileSync(`${D}/port`, 'utf8'));
  const rq = require('http').request({ port, host: '127.0.0.1', method: 'POST', path: '/v1/chat' }, rs => { rs.resume(); rs.on('end', () => process.exit(0)); });
  rq.end('{}', () => fs.writeFileSync(`${D}/asked`, ''));
} else if (process.argv[2] === 'launcher') {
  const p = spawn(process.execPath, ['--max-old-space-size=512', __filename, 'agent'], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  p.on('message', () => {}); p.on('close', code => process.exit(code));
} else {
  spawn('python3', [`${__dirname}/lib/server.py`, 'late', `${D}/port`], { stdio: 'ignore', detached: true }).unref();
  until(() => fs.existsSync(`${D}/port`), () => {
    const p = spawn('node', [__filename, 'launcher'], { stdio: ['ignore', 'inherit', 'inherit'] });
    p.on('exit', code => process.exit(code));
    until(() => fs.existsSync(`${D}/asked`), () => ready(p.pid));
  });
}
