# truth: healthy
# then: ends
# about: a client with an abstract name of its own has asked a server outside of its tree by a datagram, and that answers after a time (unix(7), autobind)
import subprocess
from lib import tree
tree.write('server.py', '''
import os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("\\0tree-" + os.environ["TREE_MARK"]); open("up", "w")
d, a = s.recvfrom(99); time.sleep(float(os.environ["SECS"])); s.sendto(b"done", a)
''')
subprocess.Popen(['python3', 'server.py'], cwd=tree.D, start_new_session=True, stdout=subprocess.DEVNULL)
import os
tree.until(os.path.exists, tree.D + '/up')
tree.show('''
import os, socket
c = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); c.bind(""); c.sendto(b"go", "\\0tree-" + os.environ["TREE_MARK"]); c.recv(99)
''', tree.in_call, 'recv')
