# truth: healthy
# then: ends
# needs: root unshare ip
# about: a client and its server, which sleeps before its answer, are in a network namespace of their own; in the machine's namespace a connection has the same two addresses and ports, and both of its ends are read (network_namespaces(7): ports are of a namespace)
import os, socket, subprocess
from lib import tree, more
a, b = socket.socket(), socket.socket()
a.setsockopt(1, 2, 1); a.bind(('127.0.0.1', 0)); b.setsockopt(1, 2, 1); b.bind(('127.0.0.1', 0))
os.environ['X'], os.environ['Y'] = str(a.getsockname()[1]), str(b.getsockname()[1])
a.close(); b.close()
PAIR = '''
import os, socket, time, sys
l = socket.socket(); l.setsockopt(1, 2, 1); l.bind(("127.0.0.1", int(os.environ["Y"]))); l.listen(1)
sleeps = len(sys.argv) > 1
if os.fork() == 0:
    c, _ = l.accept(); l.close(); open("%s/" + ("in" if sleeps else "out"), "w")
    if sleeps: time.sleep(float(os.environ["SECS"])); c.send(b"x")
    else: c.recv(9)
    os._exit(0)
s = socket.socket(); s.setsockopt(1, 2, 1); s.bind(("127.0.0.1", int(os.environ["X"]))); s.connect(l.getsockname()); l.close(); s.recv(9); os.wait()
''' % tree.D
subprocess.Popen(['python3', '-c', PAIR], start_new_session=True)
tree.until(more.there, 'out')
tree.show(['unshare', '-n', 'sh', '-c', 'ip link set lo up; exec python3 -c "$0" sleeps', PAIR], lambda pid: more.there('in') and tree.in_call(pid, 'recv'))
os._exit(0)
