# truth: healthy
# then: ends
# about: a worker reads a pipe of its own; the handler of SIGURG writes to it when the peer of a connection, outside of the tree, sends an urgent byte after a time (tcp(7), F_SETOWN and SIGURG: no O_ASYNC is needed)
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
s = socket.create_connection(("127.0.0.1", int(open("port").read()))); r, w = os.pipe()
signal.signal(signal.SIGURG, lambda *_: os.write(w, b"x"))
fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
os.read(r, 1)
''', tree.in_call, 'read')
