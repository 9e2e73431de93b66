// truth: waiting
// verdict: WAITING UNKNOWN
// then: run kill $(cat $D/child)
// about: a primary process listens for its worker, which waits for the next connection (node, cluster)
const { D, ready, until } = require('./lib/tree.js');
const fs = require('fs');
fs.writeFileSync(`${D}/cluster.js`, `const cluster = require('cluster'); const fs = require('fs');
if (cluster.isPrimary) { const w = cluster.fork(); w.on('listening', () => { fs.writeFileSync('child', String(w.process.pid)); }); w.on('exit', () => process.exit(0)); }
else require('http').createServer().listen(0, '127.0.0.1');`);
const p = require('child_process').spawn('node', ['cluster.js'], { cwd: D, stdio: 'ignore' });
p.on('exit', c => process.exit(c));
until(() => fs.existsSync(`${D}/child`), () => ready(p.pid));
