# truth: waiting
# verdict: WAITING UNKNOWN
# then: types y\n
# about: an agent asks its host for a permission, and the host asks the person at its terminal (stream-json: control_request, can_use_tool)
import os
from lib import tree
tree.write('agent.py', '''
import json, sys
sys.stdin.readline()
print(json.dumps({"type": "control_request", "request_id": "7", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}}), flush=True)
sys.stdin.readline()
print(json.dumps({"type": "result", "subtype": "success", "is_error": False}), flush=True)
''')
tree.write('host.py', '''
import json, subprocess, sys
p = subprocess.Popen(["claude", "agent.py", "--print", "--input-format", "stream-json", "--output-format", "stream-json"], executable=sys.executable, stdin=-1, stdout=-1)
say = lambda o: (p.stdin.write(json.dumps(o).encode() + b"\\n"), p.stdin.flush())
say({"type": "user", "message": {"role": "user", "content": "go"}})
for line in p.stdout:
    m = json.loads(line)
    if m["type"] == "control_request":
        yes = input("Run ls? [y/n] ")
        say({"type": "control_response", "response": {"subtype": "success", "request_id": "7", "response": {"behavior": "allow" if yes == "y" else "deny"}}})
    elif m["type"] == "result": break
p.stdin.close(); p.wait()
''')
os.environ['PYTHONHOME'] = __import__('sys').prefix
os.chdir(tree.D)
tree.run_terminal(['python3', 'host.py'], calls=['read', 'select', 'poll'], condition=lambda pid: tree.child_in_call(pid, 'read') and os.readlink(f'/proc/{pid}/fd/0').startswith('/dev/pts'))
