# truth: healthy
# then: ends
# about: connect() to a unix socket blocks while its backlog is full; the server, a child, sleeps and then accepts all (connect(2), unix(7), listen(2))
from lib import tree
tree.show('''
import os, socket, time
l = socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(0)
if os.fork() == 0:
    time.sleep(float(os.environ["SECS"])); kept = [l.accept() for i in range(2)]; os._exit(0)
l.close()
a = socket.socket(socket.AF_UNIX); a.connect("s"); b = socket.socket(socket.AF_UNIX); b.connect("s"); os.wait()
''', tree.in_call, 'connect')
