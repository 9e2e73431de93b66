# truth: healthy
# then: ends
# about: a client has not reaped a helper that has ended, and waits for the answer of a server outside of its tree, which comes after a time (unix(7); wait(2), zombies)
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import fcntl, os, signal, socket, time
if os.fork(): os._exit(0)
os.setsid()
s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen(9); open("up", "w"); c = s.accept()[0]; c.recv(9); time.sleep(float(os.environ["SECS"])); c.send(b"yes")
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import fcntl, os, signal, socket, subprocess, select, time
p = subprocess.Popen(["true"])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
while not os.path.exists("up"): time.sleep(.05)
c = socket.socket(socket.AF_UNIX); c.connect("s"); c.send(b"go"); c.recv(9)
''', tree.in_call, 'recv')
