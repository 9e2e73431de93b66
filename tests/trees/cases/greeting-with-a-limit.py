# truth: healthy
# then: ends 5
# about: a client waits for its server's greeting and the server for the client's first word, which it does for a time only (socket(7), SO_RCVTIMEO)
import os
import socket
import struct
import sys
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
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', int(tree.SECS), 0))
    try:
        peer.recv(9)
    except BlockingIOError:
        os._exit(5)
    os._exit(0)
peer.close()
assert client.recv(9) == b''
sys.exit(tree.code(os.wait()[1]))
