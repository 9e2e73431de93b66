# truth: hung
# cause: each other|circle|both|neither|mutual
# about: a client that is connected to its own parent's unix socket waits for a word, and the parent, which listens no more, for one of the client (unix(7))
import os
import socket
import sys
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'server'], lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'recv'))
listener = socket.socket(socket.AF_UNIX)
listener.bind(f'{tree.D}/socket')
listener.listen(1)
if os.fork() == 0:
    listener.close()
    client = socket.socket(socket.AF_UNIX)
    client.connect(f'{tree.D}/socket')
    client.recv(9)
    os._exit(0)
peer = listener.accept()[0]
listener.close()
peer.recv(9)
os.wait()
