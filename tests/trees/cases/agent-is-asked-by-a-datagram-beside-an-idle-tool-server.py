# truth: healthy
# then: ends
# about: an agent waits for its next word by a datagram socket with a path, and has an idle tool server; a process outside of its tree sends the word after a time (unix(7); MCP, stdio transport)
import os, subprocess, sys
from lib import tree, more
os.mkdir(f'{tree.D}/server')
tree.write('server/__main__.py', 'import sys, json\nfor line in sys.stdin:\n    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)\n')
more.foreign('import os, socket, time\nwhile not os.path.exists("'+tree.D+'/up"): time.sleep(.05)\ntime.sleep(float(os.environ["SECS"])); socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", "%s/word")' % tree.D)
tree.write('agent.py', '''
import socket, subprocess
p = subprocess.Popen(["python3", "-m", "server"], stdin=-1, stdout=-1)
p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\\n'); p.stdin.flush(); p.stdout.readline()
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("word"); open("up", "w"); s.recv(9); p.stdin.close(); p.wait()
''')
p = tree.start('goose', ['python3', f'{tree.D}/agent.py', 'run'], cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(more.there, 'up')
tree.until(lambda: tree.in_call(p.pid, 'recv') and tree.child_in_call(p.pid, 'read'))
tree.ready(p.pid)
sys.exit(p.wait())
