# truth: healthy
# unseen: whether somebody will say that word cannot be seen
# then: ends 137
# about: a program reads a pipe of its own; its parent waits at a socket with a path for the word to end it, which a process outside of its tree says after a time (unix(7), kill(2)); the question is about the program
import os, sys, subprocess
from lib import tree, more
more.foreign('''
import os, socket, time
os.chdir("%s"); time.sleep(float(os.environ["SECS"])); s = socket.socket(socket.AF_UNIX); s.connect("control"); s.send(b"end")
''' % tree.D)
p = subprocess.Popen(['python3', '-c', '''
import os, socket, subprocess, sys
s = socket.socket(socket.AF_UNIX); s.bind("control"); s.listen()
p = subprocess.Popen(["python3", "-c", "import os; r, w = os.pipe(); os.read(r, 1)"])
c, _ = s.accept(); c.recv(9); p.kill(); sys.exit(p.wait() + 146)
'''], cwd=tree.D)
child = tree.until(lambda: (tree.children(p.pid) or [0])[0])
tree.until(tree.in_call, child, 'read')
tree.ready(child)
sys.exit(p.wait())
