# truth: hung
# cause: each other|circle|mutual
# about: a browser's process sends a synchronous message to its renderer, which at the same time sends one to it (Chromium, sync IPC)
from lib import tree
tree.show('''
import os, socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork() == 0: a.close(); b.send(b"sync 1"); b.recv(99); b.recv(99); os._exit(0)
b.close(); a.send(b"sync 2"); a.recv(99); a.recv(99)
''', lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'recv'))
