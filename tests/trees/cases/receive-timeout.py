# truth: healthy
# then: ends
# about: a client with a limit of its own on each receive, whose first request was lost, asks again (socket(7), SO_RCVTIMEO)
import subprocess
from lib import tree
code = '''
import os, socket, struct
a, b = socket.socketpair()
if os.fork() == 0:
    a.close(); b.recv(9); b.recv(9); b.send(b"ok"); os._exit(0)
b.close(); a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(float(os.environ["SECS"])), 0)); a.send(b"1")
try: a.recv(9)
except OSError: a.send(b"2"); a.recv(9)
os.wait()
'''
p = subprocess.Popen(['python3', '-c', code])
tree.until(lambda: tree.children(p.pid) and tree.in_call(p.pid, 'recv') and tree.in_call(tree.children(p.pid)[0], 'recv'))
tree.ready(p.pid)
raise SystemExit(p.wait())
