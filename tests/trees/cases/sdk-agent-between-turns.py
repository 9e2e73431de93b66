# truth: waiting
# verdict: WAITING UNKNOWN
# then: run kill $(cat $D/host)
# needs: node
# about: a web app that listens keeps an agent's stream-json session open between two turns; the last turn has its result
import os
import socket
import subprocess
import threading
from lib import tree
tree.write('agent.js', '''
process.stdout.write('{"type":"system","subtype":"init","session_id":"s","tools":[],"model":"m"}\\n');
process.stdin.on('data', () => process.stdout.write('{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s"}\\n'));
process.stdin.on('end', () => process.exit(0));
''')
tree.write('host', str(os.getpid()))
p = tree.start('claude', ['node', f'{tree.D}/agent.js', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
p.stdin.flush()
p.stdout.readline()
p.stdout.readline()
threading.Thread(target=p.stdout.read, daemon=True).start()
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(5)
tree.ready(p.pid)
listener.accept()
