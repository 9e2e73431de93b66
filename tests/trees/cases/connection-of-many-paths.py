# truth: healthy
# then: ends
# if: [ "$(cat /proc/sys/net/mptcp/enabled)" = 1 ]
# about: a client waits for the answer of its server, a process of the same tree, which sleeps before it (Multipath TCP, RFC 8684: socket(…, IPPROTO_MPTCP))
from lib import tree
tree.show('''
import os, socket, time
l = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); l.bind(("127.0.0.1", 0)); l.listen(1)
if os.fork() == 0:
    c, _ = l.accept(); c.recv(9); time.sleep(float(os.environ["SECS"])); c.sendall(b"answer"); os._exit(0)
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262); s.connect(l.getsockname()); l.close(); s.sendall(b"ask"); s.recv(9); os.wait()
''', lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'nanosleep'))
