# truth: hung
# cause: stop
# later: 15 the one who stopped it may let it go on
# about: a producer blocks in a full socket of a broker, whose consumer a signal has stopped (socket(7), SO_SNDBUF)
from lib import tree
tree.show('''
import os, signal, socket
a, b = socket.socketpair()
if os.fork() == 0: a.close(); os.kill(os.getpid(), signal.SIGSTOP); b.recv(9); os._exit(0)
b.close(); a.sendall(b"x" * (1 << 24))
''', lambda pid: tree.in_call(pid, 'sendto') and tree.state(tree.children(pid)[0]) == 'T')
