// truth: waiting
// then: ends
// about: a log-in asks a server every two seconds whether a person has typed the code, until it says yes (RFC 8628, 3.4)
const { D, SECS, ready } = require('./lib/tree.js');
const { spawn } = require('child_process');
const server = `const end = Date.now() + ${SECS} * 1000; require('http').createServer((q, r) => {
  process.stdout.write('asked'); r.end(JSON.stringify(Date.now() < end ? { error: 'authorization_pending' } : { access_token: 't' }));
}).listen(0, '127.0.0.1', function () { process.stdout.write(this.address().port + '\\n'); });`;
const login = `const ask = async () => { const answer = await (await fetch('http://127.0.0.1:' + process.argv[1])).json();
  if (answer.access_token) process.exit(0); setTimeout(ask, 2000); };
  console.log('enter the code ABCD-EFGH'); ask();`;
const far = spawn('node', ['-e', server], { stdio: ['ignore', 'pipe', 'inherit'] });
let said = '';
far.stdout.on('data', data => {
  said += data;
  if (said.endsWith('\n') && !near) {
    near = spawn('node', ['-e', login, said.trim()], { stdio: ['ignore', 'inherit', 'inherit'], cwd: D });
    near.on('exit', code => { far.kill(); process.exit(code); });
  } else if (said.endsWith('asked') && !told) ready(told = near.pid);
});
let near, told;
