# truth: hung
# cause: each other|circle|both|neither|mutual
# about: a client waits for its server's greeting, and the server for the client's first word (tcp(7), recv)
import subprocess
import sys
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'client'], lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'recv'))
import os
import socket
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(1)
client = socket.create_connection(listener.getsockname())
peer = listener.accept()[0]
listener.close()
if os.fork() == 0:
    client.close()
    peer.recv(9)
    os._exit(0)
peer.close()
client.recv(9)
os.wait()
