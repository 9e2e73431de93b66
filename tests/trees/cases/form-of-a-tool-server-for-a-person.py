# truth: waiting
# verdict: WAITING UNKNOWN
# then: types yes\n
# about: in a tool's call the tool server asks its host for a form, and the host asks the person at its terminal (MCP, elicitation/create)
import os
from lib import tree
tree.write('server.py', '''
import json, sys
say = lambda m: print(json.dumps(dict(jsonrpc="2.0", **m)), flush=True)
for line in iter(sys.stdin.readline, ""):
    m = json.loads(line)
    if m.get("method") == "initialize": say({"id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}})
    elif m.get("method") == "tools/call":
        say({"id": 70, "method": "elicitation/create", "params": {"message": "Delete the branch?", "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}})
        json.loads(sys.stdin.readline()); say({"id": m["id"], "result": {"content": []}})
''')
tree.write('host.py', '''
import json, subprocess, sys
p = subprocess.Popen(["python3", "server.py"], stdin=-1, stdout=-1)
say = lambda m: (p.stdin.write(json.dumps(dict(jsonrpc="2.0", **m)).encode() + b"\\n"), p.stdin.flush())
say({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "h", "version": "1"}}}); p.stdout.readline()
say({"id": 1, "method": "tools/call", "params": {"name": "delete", "arguments": {}}})
for line in p.stdout:
    m = json.loads(line)
    if m.get("method") == "elicitation/create": say({"id": m["id"], "result": {"action": "accept", "content": {"ok": input("Delete the branch? ") == "yes"}}})
    elif m.get("id") == 1: break
p.stdin.close(); p.wait()
''')
os.chdir(tree.D)
tree.run_terminal(['python3', 'host.py'], calls=['read', 'select', 'poll'], condition=lambda pid: tree.child_in_call(pid, 'read') and os.readlink(f'/proc/{pid}/fd/0').startswith('/dev/pts') and not tree.in_call(pid, 'wait'))
