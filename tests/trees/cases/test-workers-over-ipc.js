// truth: healthy
// then: ends
// about: a test runner has three workers on IPC channels; one runs a test that takes its time, the others wait for a test (node, child_process.fork)
const { D, SECS, ready, until } = require('./lib/tree.js');
const fs = require('fs');
if (process.argv[2] === 'worker') {
  process.on('message', ms => { fs.writeFileSync(`${D}/works`, ''); setTimeout(() => process.send('passed'), ms); });
} else if (process.argv[2] === 'runner') {
  const workers = [1, 2, 3].map(() => require('child_process').fork(__filename, ['worker'], { silent: true }));
  workers[0].on('message', () => workers.forEach(w => w.disconnect()));
  workers[0].send(SECS * 1000);
} else {
  const p = require('child_process').spawn('node', [__filename, 'runner'], { stdio: ['ignore', 'inherit', 'inherit'] });
  p.on('exit', code => process.exit(code));
  until(() => fs.existsSync(`${D}/works`), () => ready(p.pid));
}
