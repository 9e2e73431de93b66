# truth: healthy
# then: ends
# about: a server sends a file without copying it; its client, a child, takes a time over the first block (sendfile(2))
from lib import tree
tree.show('''
import os, socket, time
a, b = socket.socketpair()
with open("file", "wb") as f: f.truncate(4 << 20)
if os.fork() == 0:
    a.close(); b.recv(9); time.sleep(float(os.environ["SECS"]))
    while b.recv(1 << 16): pass
    os._exit(0)
b.close(); f = open("file", "rb"); n = 0
while n < 4 << 20: n += os.sendfile(a.fileno(), f.fileno(), n, (4 << 20) - n)
a.close(); os.wait()
''', lambda pid: open(f'/proc/{pid}/syscall').read().startswith('40 '))
