// truth: healthy
// then: ends
// about: an agent's request goes through a proxy of the same machine to a model that thinks for a time (RFC 9110, 3.7 Intermediaries)
const { D, SECS, ready, until } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
const model = `require('net').createServer(c => c.once('data', () => { require('fs').writeFileSync('asked', ''); setTimeout(() => c.end('HTTP/1.1 200 OK\\r\\n\\r\\n{}'), ${SECS * 1000}); }))
  .listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
const proxy = `require('net').createServer(c => { const far = require('net').connect(process.argv[1], '127.0.0.1'); c.pipe(far); far.pipe(c); })
  .listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
const port = child => new Promise(done => child.stdout.once('data', data => done(String(data).trim())));
(async () => {
  const options = { stdio: ['ignore', 'pipe', 'inherit'], cwd: D };
  const one = spawn('node', ['-e', model], options);
  const two = spawn('node', ['-e', proxy, await port(one)], options);
  const env = { ...process.env, DO: JSON.stringify({ model: Number(await port(two)), end: true }) };
  const agent = spawn('node', [`${__dirname}/lib/agent.js`, '-p', 'go'], { argv0: 'claude', stdio: 'ignore', env, cwd: D });
  agent.on('exit', code => { one.kill(); two.kill(); process.exit(code); });
  until(() => fs.existsSync(`${D}/asked`), () => ready(agent.pid));
})();
