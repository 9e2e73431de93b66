# truth: hung
# cause: each other|answer|initialize|request|circle|wait for
# culprit: server
# about: an unknown agent waits for the answer of a tool server, which is in the server's buffer for want of a flush (Python, sys.stdout is block-buffered when it is no terminal)
import os
import subprocess
from lib import tree
tree.write('server.py', '''
import json, sys
while line := sys.stdin.readline():
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {}}}))
    open("answered", "w").close()
''')
tree.write('agent.py', '''
import json, subprocess, sys
p = subprocess.Popen(["python3", "server.py"], stdin=-1, stdout=-1)
p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode() + b"\\n"); p.stdin.flush()
p.stdout.readline()
''')
env = {k: v for k, v in os.environ.items() if k != 'PYTHONUNBUFFERED'}
p = tree.start('goose', ['python3', 'agent.py'], cwd=tree.D, stdin=subprocess.DEVNULL, env=env)
tree.until(os.path.exists, f'{tree.D}/answered')
tree.until(tree.in_call, p.pid, 'read')
tree.until(tree.child_in_call, p.pid, 'read')
tree.ready(p.pid)
raise SystemExit(p.wait())
