# truth: healthy
# then: ends
# about: the only thread waits for an event, which its handler of SIGURG sets when the peer of a connection, outside of the tree, sends an urgent byte after a time (tcp(7), F_SETOWN and SIGURG; Python, threading.Event.wait)
import os
from lib import tree, more
more.foreign('''
import os, socket, time
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1); os.chdir("%s"); open("p", "w").write(str(l.getsockname()[1])); os.rename("p", "port")
c, _ = l.accept(); time.sleep(float(os.environ["SECS"])); c.send(b"!", socket.MSG_OOB); c.recv(9)
''' % tree.D)
tree.until(more.there, 'port')
tree.show('''
import fcntl, os, signal, socket, threading
s = socket.create_connection(("127.0.0.1", int(open("port").read()))); e = threading.Event()
signal.signal(signal.SIGURG, lambda *_: e.set())
fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
e.wait()
''', tree.in_call, 'futex')
