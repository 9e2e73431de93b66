// truth: hung
// cause: each other|channel|socket|wait|IPC
// needs: node
// about: a parent waits for the end of its worker, which has done its work and lives on since it listens on its channel; nobody disconnects (node, child_process: "exit the channel": process.on('message') keeps the process alive until disconnect)
const { D, ready, until, state } = require('./lib/tree.js');
const fs = require('fs');
const { fork, spawn } = require('child_process');
if (process.argv[2] === 'worker') {
  process.on('message', m => { process.send({ sum: m.a + m.b }); fs.writeFileSync(`${D}/done`, String(process.pid)); });
} else if (process.argv[2] === 'parent') {
  const w = fork(__filename, ['worker']);
  w.on('message', () => fs.writeFileSync(`${D}/has`, ''));
  w.send({ a: 1, b: 2 });
  w.on('exit', () => process.exit(0));
} else {
  const p = spawn('node', [__filename, 'parent'], { stdio: ['ignore', 'inherit', 'inherit'] });
  p.on('exit', code => process.exit(code));
  const call = pid => fs.readFileSync(`/proc/${pid}/syscall`, 'utf8').split(' ')[0];
  until(() => fs.existsSync(`${D}/has`) && ['232', '281'].includes(call(p.pid)) && ['232', '281'].includes(call(fs.readFileSync(`${D}/done`, 'utf8'))), () => ready(p.pid));
}
