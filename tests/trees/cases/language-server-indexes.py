# truth: healthy
# then: ends
# needs: node
# about: a client waits for the answer to `initialize` while the server's worker process indexes (Language Server Protocol)
import subprocess
import sys
from lib import tree
tree.write('server.js', '''
process.stdin.once('data', () => require('child_process').spawn('sh', ['-c', 'sleep $SECS; echo indexed'], { stdio: ['ignore', 'pipe', 'inherit'] })
  .on('exit', () => { process.stdout.write('Content-Length: 36\\r\\n\\r\\n{"jsonrpc":"2.0","id":1,"result":{}}'); process.exit(0); }));
''')
tree.show('''
import subprocess
p = subprocess.Popen(["node", "server.js", "--stdio"], stdin=-1, stdout=-1)
body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
p.stdin.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body); p.stdin.flush(); p.stdout.read(); p.wait()
''', lambda pid: tree.below(pid, 'sleep') and tree.in_call(pid, 'read'))
