# truth: hung
# cause: each other|socket|wait|answer
# about: a build daemon's only worker starts a nested build by the client's program, which connects to the same daemon and waits in its queue; the worker waits for the nested client's end (Gradle, nested builds; Bazel: "Another command is running, waiting for it")
from lib import tree, more
tree.write('client.py', 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("d"); s.sendall(b"build"); s.recv(9)')
tree.write('daemon.py', '''
import os, socket, subprocess
l = socket.socket(socket.AF_UNIX); l.bind("d"); l.listen(9); open("up", "w")
while True:
    c, _ = l.accept(); c.recv(9); subprocess.run(["python3", "client.py"]); c.sendall(b"done"); c.close()
''')
tree.show(['bash', '-c', 'python3 daemon.py & until [ -e up ]; do sleep .1; done; python3 client.py; kill $!'],
          lambda pid: len(tree.children(pid)) == 2 and all(tree.in_call(c, 'recv', 'wait', 'poll') for c in tree.children(pid)) and any(tree.child_in_call(c, 'recv') for c in tree.children(pid)))
