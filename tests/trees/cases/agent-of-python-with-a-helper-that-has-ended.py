# truth: healthy
# then: ends
# about: an agent in Python has started a notification and not reaped it; it waits for its model's answer, which comes after a time (urllib has no default limit; wait(2), zombies)
import os, subprocess
from lib import tree
subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'late', f'{tree.D}/port'], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
tree.until(os.path.exists, f'{tree.D}/port')
tree.write('agent.py', '''
import os, socket, subprocess
p = subprocess.Popen(["true"]); os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
s = socket.create_connection(("127.0.0.1", int(open("port").read()))); s.sendall(b"POST /v1/messages HTTP/1.1\\r\\nHost: m\\r\\nContent-Length: 2\\r\\n\\r\\n{}"); s.recv(9)
''')
p = tree.start('aider', ['python3', 'agent.py', '--message', 'go'], stdin=subprocess.DEVNULL, cwd=tree.D)
tree.until(tree.in_call, p.pid, 'recv')
tree.ready(p.pid)
import sys
sys.exit(p.wait())
