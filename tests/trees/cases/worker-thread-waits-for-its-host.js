// truth: hung
// cause: futex|thread|lock|deadlock|memory|nothing
// about: the first thread waits in Atomics.wait for a worker, whose start needs the first thread's loop (node, Atomics.wait on the main thread)
const { D, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const code = `const { Worker } = require('worker_threads'); const shared = new Int32Array(new SharedArrayBuffer(4));
const w = new Worker("const { parentPort } = require('worker_threads'); parentPort.once('message', m => { Atomics.store(m, 0, 1); Atomics.notify(m, 0); })", { eval: true });
w.once('message', () => w.postMessage(shared)); require('fs').writeFileSync(process.env.D + '/waits', ''); Atomics.wait(shared, 0, 0);`;
const p = require('child_process').spawn('node', ['-e', code], { stdio: 'ignore' });
p.on('exit', c => process.exit(c));
until(() => fs.existsSync(`${D}/waits`), () => ready(p.pid));
