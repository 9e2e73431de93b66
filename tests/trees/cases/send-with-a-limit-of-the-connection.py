# truth: healthy
# then: ends
# about: a program is blocked in a send to its child, which never reads; the connection has a limit for data that are not taken, and ends with ETIMEDOUT (tcp(7), TCP_USER_TIMEOUT: a zero window counts, too)
from lib import tree
tree.show('''
import os, socket, signal
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1)
if os.fork() == 0:
    c, _ = l.accept(); signal.pause()
s = socket.create_connection(l.getsockname()); l.close(); s.setsockopt(socket.IPPROTO_TCP, 18, int(float(os.environ["SECS"]) * 1000))
try:
    while True: s.send(b"x" * 65536)
except TimeoutError: os._exit(0)
''', tree.in_call, 'sendto')
