// truth: healthy
// then: ends
// about: a test runner's pool has four threads that wait in Atomics.wait for a task; one of them runs a test that takes its time (node, worker_threads, Atomics.wait; tinypool)
const { D, SECS, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const { Worker, isMainThread, workerData, parentPort, receiveMessageOnPort } = require('worker_threads');
if (!isMainThread) {
  for (;;) {
    Atomics.wait(workerData, 0, 0);
    if (Atomics.compareExchange(workerData, 0, 1, 0) === 1) {
      fs.writeFileSync(`${D}/works`, ''); require('child_process').execFileSync('sleep', [String(SECS)]); parentPort.postMessage('passed');
    }
  }
} else if (process.argv[2] === 'runner') {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const pool = [1, 2, 3, 4].map(() => new Worker(__filename, { workerData: word }));
  pool.forEach(w => w.on('message', () => process.exit(0)));
  setTimeout(() => { Atomics.store(word, 0, 1); Atomics.notify(word, 0, 1); }, 500);
} else {
  const p = require('child_process').spawn('node', [__filename, 'runner'], { stdio: ['ignore', 'inherit', 'inherit'] });
  p.on('exit', code => process.exit(code));
  until(() => fs.existsSync(`${D}/works`), () => ready(p.pid));
}
