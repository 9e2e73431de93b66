# truth: waiting
# verdict: WAITING UNKNOWN
# then: run kill $(cat $D/host)
# needs: node
# about: a stdio server has answered `initialize` and waits for the next request of a host that listens at a port (JSON-RPC over stdio)
import os
import select
import socket
import subprocess
from lib import tree
tree.write('server.js', '''
require('readline').createInterface({ input: process.stdin }).on('line', line =>
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id, result: {} }) + '\\n'));
''')
tree.write('host', str(os.getpid()))
p = tree.start('codex', ['node', f'{tree.D}/server.js', 'app-server'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
p.stdin.flush()
p.stdout.readline()
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(5)
tree.ready(p.pid)
select.select([listener, p.stdout], [], [])
