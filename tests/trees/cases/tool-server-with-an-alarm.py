# truth: healthy
# then: ends
# about: an unknown agent waits for a tool server's answer, which the handler of the server's alarm writes while it reads the next request (alarm(2); Python, signal: handlers run in the main thread, the read is tried again)
import os
import subprocess
from lib import tree
tree.write('server.py', '''
import os, signal, sys
def answer(*_): os.write(1, b'{"jsonrpc":"2.0","id":1,"result":{}}\\n')
signal.signal(signal.SIGALRM, answer)
os.read(0, 999); signal.alarm(int(float(os.environ["SECS"]))); open("asked", "w").close()
while os.read(0, 999): pass
''')
tree.write('agent.py', '''
import json, subprocess, sys
p = subprocess.Popen(["python3", "server.py"], stdin=-1, stdout=-1)
p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait"}}).encode() + b"\\n"); p.stdin.flush()
p.stdout.readline(); p.stdin.close(); p.wait()
''')
p = tree.start('goose', ['python3', 'agent.py'], cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(os.path.exists, f'{tree.D}/asked')
tree.until(tree.in_call, p.pid, 'read')
tree.until(tree.child_in_call, p.pid, 'read')
tree.ready(p.pid)
raise SystemExit(p.wait())
