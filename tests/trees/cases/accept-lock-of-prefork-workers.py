# truth: healthy
# then: ends
# about: three workers share a listener and take turns by a lock: one accepts with the lock, the others wait for it; a client of the same tree calls after a time, and each worker serves one request (Apache, Mutex accept)
from lib import tree
tree.show('''
import fcntl, os, socket, time
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(9); port = l.getsockname()[1]
open("lock", "w")
for n in range(3):
    if os.fork() == 0:
        f = open("lock"); fcntl.flock(f, fcntl.LOCK_EX); c, _ = l.accept(); f.close(); c.sendall(b"hi"); os._exit(0)
l.close()
if os.fork() == 0:
    time.sleep(float(os.environ["SECS"]))
    for n in range(3): socket.create_connection(("127.0.0.1", port)).recv(9)
    os._exit(0)
for n in range(4): os.wait()
''', lambda pid: len(tree.children(pid)) == 4 and sum(tree.in_call(c, 'flock') for c in tree.children(pid)) == 2)
