# truth: hung
# cause: stdin|standard input|pipe|rg
# culprit: rg
# needs: node rg
# about: a tool server runs `rg PATTERN` without a path and passes its own stdin on: rg reads that pipe, the agent waits for the answer (ripgrep(1): stdin is searched if it is a pipe; MCP, stdio transport)
import subprocess
from lib import tree
tree.write('server.py', '''
import json, subprocess, sys
for line in iter(sys.stdin.readline, ""):
    m = json.loads(line)
    if m["method"] == "initialize": r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/call": r = {"content": [{"type": "text", "text": subprocess.run(["rg", "TODO"], stdout=subprocess.PIPE, text=True).stdout}]}
    else: continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
''')
send = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "grep", "arguments": {}}}]
p = tree.agent('claude', '-p', 'go', do={'servers': [{'cmd': ['python3', 'server.py'], 'send': send}]}, stdin=subprocess.DEVNULL, cwd=tree.D)
def reads():
    found = tree.below(p.pid, 'rg')
    return found and tree.any_in_call(found, 'read')
tree.until(reads)
tree.ready(p.pid)
p.wait()
