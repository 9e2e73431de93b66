# truth: hung
# verdict: HUNG WAITING
# cause: broker|answer|python3
# about: a client waits for a reply through a broker; the worker that took the request has died, and the broker waits for new ones
from lib import tree
tree.show('''
import os, socket, select
s = socket.socket(socket.AF_UNIX); s.bind("broker"); s.listen(5)
if os.fork() == 0:
    s.close(); w = socket.socket(socket.AF_UNIX); w.connect("broker"); w.send(b"worker"); w.recv(99); os._exit(1)
worker, _ = s.accept(); worker.recv(99)
if os.fork() == 0:
    s.close(); worker.close(); c = socket.socket(socket.AF_UNIX); c.connect("broker"); c.send(b"request"); c.recv(99); os._exit(0)
client, _ = s.accept(); worker.send(client.recv(99)); os.wait(); select.select([s], [], [])
''', lambda pid: len(tree.children(pid)) == 1 and tree.in_call(pid, 'select') and tree.child_in_call(pid, 'recv'))
