# truth: healthy
# then: ends
# needs: node
# about: an agent's command is a client of a daemon on a unix socket, a child of which works on the request while the daemon watches its clients
import os
import subprocess
import sys
from lib import tree
tree.write('daemon.js', '''
require('net').createServer(peer => peer.once('data', () => {
  require('child_process').spawn('sleep', [process.env.SECS]).on('exit', () => peer.end('built'));
})).listen(process.env.D + '/socket', () => require('fs').writeFileSync(process.env.D + '/listens', ''));
''')
tree.start('nix-daemon', ['node', f'{tree.D}/daemon.js', '--daemon'], start_new_session=True, stdin=subprocess.DEVNULL)
tree.until(os.path.exists, f'{tree.D}/listens')
code = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('socket'); s.sendall(b'build'); s.recv(9)"
p = tree.agent('claude', '-p', 'go', do={'tools': [['python3', '-c', code]], 'end': True}, cwd=tree.D, stdin=subprocess.DEVNULL)
client = tree.until(tree.below, p.pid, 'python3')
tree.until(tree.in_call, client, 'recv')
tree.ready(p.pid)
sys.exit(p.wait())
