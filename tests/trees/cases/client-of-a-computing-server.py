# truth: hung
# cause: opencode
# certain: no
# moves: the server computes
# later: 30 the server computes, and may accept it after that
# about: a client's connection is in the backlog of a server whose loop computes and accepts nobody (listen(2))
import subprocess
import sys
from lib import tree
code = 'import socket\ns = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(16); print(s.getsockname()[1], flush=True)\nwhile True: pass'
server = tree.start('opencode', ['python3', '-c', code], stdout=subprocess.PIPE)
port = int(server.stdout.readline())
code = 'import socket, sys\ns = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); s.sendall(b"GET /session HTTP/1.1\\r\\n\\r\\n"); s.recv(9)'
client = tree.start('opencode', ['python3', '-c', code, str(port)], stdin=subprocess.DEVNULL)
tree.until(tree.in_call, client.pid, 'recv')
tree.ready(client.pid)
client.wait()
