// truth: waiting
// verdict: WAITING UNKNOWN WORKING
// then: run touch $D/watched/x
// about: a watcher of a source folder has a server below it and starts it anew on each change (fs.watch, nodemon)
const { D, ready } = require('./lib/tree.js');
const fs = require('fs');
const { spawn } = require('child_process');
fs.mkdirSync(`${D}/watched`);
const code = `const fs = require('fs');
const child = require('child_process').spawn('node', ['-e', "require('net').createServer().listen(0, '127.0.0.1', () => require('fs').writeFileSync('served', ''))"], { stdio: 'ignore' });
fs.watch('watched', () => { child.kill(); process.exit(0); }); fs.writeFileSync('watching', '');`;
const p = spawn('node', ['-e', code], { cwd: D, stdio: 'ignore' });
require('./lib/tree.js').until(() => fs.existsSync(`${D}/served`) && fs.existsSync(`${D}/watching`), () => ready(p.pid));
p.on('exit', c => process.exit(c || 0));
