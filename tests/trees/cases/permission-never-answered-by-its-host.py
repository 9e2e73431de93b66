# truth: hung
# cause: each other|answer|permission|control|circle|stdin|standard input
# culprit: [Cc]laude
# about: an agent asks its host for a permission on its stdout and reads the answer on stdin; the host took the line for a message, and reads the next one (stream-json: control_request, can_use_tool)
import os
import subprocess
from lib import tree
tree.write('agent.py', '''
import json, sys
sys.stdin.readline()
print(json.dumps({"type": "system", "subtype": "init", "session_id": "1"}), flush=True)
print(json.dumps({"type": "control_request", "request_id": "7", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}}), flush=True)
open("asked", "w").close()
sys.stdin.readline()
''')
tree.write('host.py', '''
import json, subprocess, sys
p = subprocess.Popen(["claude", "agent.py", "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio"], executable=sys.executable, stdin=-1, stdout=-1)
p.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": "go"}}).encode() + b"\\n"); p.stdin.flush()
for line in p.stdout:
    if json.loads(line)["type"] == "result": break
''')
os.environ['PYTHONHOME'] = __import__('sys').prefix
tree.show(['python3', 'host.py'], lambda pid: os.path.exists(f'{tree.D}/asked') and tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'), stdin=subprocess.DEVNULL)
