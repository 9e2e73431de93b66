// truth: hung
// cause: pipe|output|full|socket
// about: a host waits for its tool's end and has nobody who reads its stdout: the stream fills up and the tool blocks (node, child_process: stdio pipes)
const { D, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
if (process.argv[2]) {
  const p = spawn('python3', ['-c', 'import os; os.set_blocking(1, True); print("x" * (1 << 21))'], { stdio: ['ignore', 'pipe', 'inherit'] });
  p.on('exit', () => process.exit(0));
  p.stdout.pause();
  fs.writeFileSync(`${D}/tool`, String(p.pid));
} else {
  const p = spawn('node', [__filename, 'host'], { stdio: ['ignore', 'inherit', 'inherit'] });
  p.on('exit', code => process.exit(code));
  // The tool is in write(2) or in sendto(2).
  const writes = () => /^(1|20|44|46) /.test(fs.readFileSync(`/proc/${fs.readFileSync(`${D}/tool`, 'utf8')}/syscall`, 'utf8'));
  until(() => writes() && [...Array(200)].every(writes), () => ready(p.pid));
}
