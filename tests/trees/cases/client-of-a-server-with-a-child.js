// truth: healthy
// then: ends
// about: a script asks the development server that it has started, whose handler runs a compiler and answers with its end (RFC 9110, 9.3.1)
const { D, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
const server = `const run = require('child_process').spawn; require('http').createServer((q, r) => { const c = run('sh', ['-c', ': >builds; sleep "$SECS"'], { stdio: 'ignore' });
  c.on('exit', () => r.end('built')); }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
const far = spawn('node', ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'], cwd: D });
far.stdout.once('data', port => {
  const script = `import urllib.request; assert urllib.request.urlopen("http://127.0.0.1:${String(port).trim()}/").read() == b"built"`;
  const near = spawn('python3', ['-c', script], { stdio: ['ignore', 'inherit', 'inherit'], cwd: D });
  near.on('exit', code => { far.kill(); process.exit(code); });
  until(() => fs.existsSync(`${D}/builds`), () => ready(near.pid));
});
