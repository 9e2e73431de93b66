# truth: hung
# verdict: HUNG WAITING
# cause: answer|request|server\.py|sleep|lock|thread
# culprit: server
# needs: socat node
# about: an agent asks a tool server through a bridge; the server has taken the request and waits for a lock that its own finished request still has (socat(1), EXEC; threading.Lock)
import subprocess
from lib import tree
tree.write('server.py', '''
import json, sys, threading
l = threading.Lock()
for line in iter(sys.stdin.readline, ""):
    m = json.loads(line); l.acquire()
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}}), flush=True)
''')
send = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "grep", "arguments": {}}}]
p = tree.agent('claude', '-p', 'go', do={'servers': [{'cmd': ['socat', '-', 'EXEC:python3 server.py'], 'send': send}]}, stdin=subprocess.DEVNULL, cwd=tree.D)
def waits():
    found = tree.below(p.pid, 'python3')
    return found and tree.in_call(found, 'futex')
tree.until(waits)
tree.ready(p.pid)
p.wait()
