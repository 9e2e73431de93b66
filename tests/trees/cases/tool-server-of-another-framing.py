# truth: hung
# cause: each other|answer|initialize|request|circle|wait for
# culprit: server
# about: an agent sends a tool server lines of JSON; the server reads headers up to an empty line, as the Language Server Protocol has them: each waits for the other (MCP, stdio transport: messages are delimited by newlines)
import os
import subprocess
from lib import tree
tree.write('server.py', '''
import sys
while True:
    headers = []
    while line := sys.stdin.readline().strip():
        headers.append(line); open("read", "w").close()
    length = int(headers[0].split(":")[1]); sys.stdin.read(length)
''')
tree.write('agent.py', '''
import json, subprocess, sys
p = subprocess.Popen(["python3", "server.py"], stdin=-1, stdout=-1)
p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode() + b"\\n"); p.stdin.flush()
p.stdout.readline()
''')
p = tree.start('opencode', ['python3', 'agent.py'], cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(os.path.exists, f'{tree.D}/read')
tree.until(tree.in_call, p.pid, 'read')
tree.until(tree.child_in_call, p.pid, 'read')
tree.ready(p.pid)
raise SystemExit(p.wait())
