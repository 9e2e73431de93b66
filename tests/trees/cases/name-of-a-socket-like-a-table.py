# truth: healthy
# then: ends
# about: a server listens on a unix socket whose name has a line like those of the kernel's table, with the number of the connection that a client of the tree waits for; the client's server sleeps and then answers (proc(5), /proc/net/unix)
import os
from lib import tree, more
os.chdir(tree.D)
tree.show('''
import os, socket, time
a, b = socket.socketpair()
n = os.fstat(a.fileno()).st_ino; m = os.fstat(b.fileno()).st_ino
if os.fork() == 0:
    a.close(); time.sleep(float(os.environ["SECS"])); b.send(b"x"); os._exit(0)
b.close()
l = socket.socket(socket.AF_UNIX); l.bind(f"x\\n0: 00000002 00000000 00010000 0001 01 {m} a"[:100]); l.listen(1)
k = socket.socket(socket.AF_UNIX); k.bind(f"y\\n0: 00000002 00000000 00010000 0001 01 {n} b"[:100]); k.listen(1)
a.recv(1); os.wait()
''', lambda pid: tree.in_call(pid, 'recv'))
