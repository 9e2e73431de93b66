// truth: healthy
// then: ends
// about: the first thread waits for a message of a worker thread that sleeps in Atomics.wait with a limit (node, worker_threads)
const { D, SECS, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const code = `const { Worker } = require('worker_threads');
new Worker("require('fs').writeFileSync(process.env.D + '/works', ''); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, process.env.SECS * 1000)", { eval: true });`;
const p = require('child_process').spawn('node', ['-e', code], { stdio: 'ignore' });
p.on('exit', c => process.exit(c));
until(() => fs.existsSync(`${D}/works`), () => ready(p.pid));
