# truth: healthy
# then: ends
# about: two processes read each other's pipes; the first one's handler of SIGURG writes to the second when its server, outside of the tree, sends an urgent byte after a time (tcp(7), F_SETOWN and SIGURG)
import os
from lib import tree, more
more.foreign('''
import os, socket, time
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1); os.chdir("%s"); open("p", "w").write(str(l.getsockname()[1])); os.rename("p", "port")
c, _ = l.accept(); time.sleep(float(os.environ["SECS"])); c.send(b"!", socket.MSG_OOB); c.recv(9)
''' % tree.D)
tree.until(more.there, 'port')
tree.show('''
import fcntl, os, signal, socket
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d)
s = socket.create_connection(("127.0.0.1", int(open("port").read())))
signal.signal(signal.SIGURG, lambda *_: os.write(b, b"x"))
fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
os.read(c, 1); os.wait()
''', lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
