# truth: healthy
# then: ends
# about: connect() to a unix socket blocks while its backlog is full, for at most the socket's limit; the listener is the program's own (unix(7); socket(7), SO_SNDTIMEO)
from lib import tree
tree.show('''
import os, socket, struct
l = socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(0); a = socket.socket(socket.AF_UNIX); a.connect("s")
b = socket.socket(socket.AF_UNIX); b.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(float(os.environ["SECS"])), 0))
try: b.connect("s")
except BlockingIOError: os._exit(0)
''', tree.in_call, 'connect')
