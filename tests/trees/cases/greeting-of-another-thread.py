# truth: healthy
# then: ends
# about: a client and its server's first thread both wait for the other's word, and another thread of the server says one after a time (tcp(7), recv)
import os
import socket
import sys
import threading
import time
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'client'], lambda pid: tree.in_call(pid, 'recv') and tree.child_in_call(pid, 'recv'))
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(1)
client = socket.create_connection(listener.getsockname())
peer = listener.accept()[0]
listener.close()
if os.fork() == 0:
    client.close()
    threading.Thread(target=lambda: (time.sleep(tree.SECS), peer.sendall(b'hello')), daemon=True).start()
    peer.recv(9)
    os._exit(0)
peer.close()
assert client.recv(9) == b'hello'
client.close()
sys.exit(tree.code(os.wait()[1]))
