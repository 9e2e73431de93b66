// truth: waiting
// verdict: WAITING WORKING UNKNOWN
// then: run touch $D/news
// about: a client of a push service says a ping each ten seconds, which is answered; no news has come for a while (RFC 6455, 5.5.2)
const { D, ready } = require('./lib/tree.js');
const { spawn } = require('child_process');
const server = `const fs = require('fs'); require('net').createServer(c => { c.on('data', () => c.write('pong')); c.on('error', () => {});
  fs.watch(process.env.D, (_, name) => { if (name === 'news') c.end('news'); }); }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
const client = `const s = require('net').connect(process.argv[1], '127.0.0.1', () => s.write('ping')); setInterval(() => s.write('ping'), 10000);
  s.on('data', data => { if (String(data).includes('news')) process.exit(0); if (!this.told) console.log('pong'); this.told = 1; });`;
const far = spawn('node', ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] });
far.stdout.once('data', port => {
  const near = spawn('node', ['-e', client, String(port).trim()], { stdio: ['ignore', 'pipe', 'inherit'] });
  near.stdout.once('data', () => ready(near.pid));
  near.on('exit', code => { far.kill(); process.exit(code); });
});
