# truth: hung
# cause: each other|epoll|unread|pipe|circle|wait
# about: a server takes one line of two from its pipe and waits for the next edge, which does not come; the client waits for the answer to the second line (epoll(7), edge-triggered: read until EAGAIN)
import os
from lib import tree
tree.write('server.py', '''
import os, select
e = select.epoll(); e.register(0, select.EPOLLIN | select.EPOLLET)
while True:
    e.poll()
    line = b""
    while (b := os.read(0, 1)) != b"\\n":
        if not b: raise SystemExit
        line += b
    os.write(1, b"did " + line + b"\\n")
''')
tree.write('client.py', '''
import subprocess, sys
p = subprocess.Popen([sys.executable, "server.py"], stdin=-1, stdout=-1)
p.stdin.write(b"one\\ntwo\\n"); p.stdin.flush()
p.stdout.readline(); open("one", "w").close(); p.stdout.readline()
p.stdin.close(); p.wait()
''')
tree.show(['python3', 'client.py'], lambda pid: os.path.exists(f'{tree.D}/one') and tree.in_call(pid, 'read') and tree.child_in_call(pid, 'epoll'))
