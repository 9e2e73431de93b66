# truth: healthy
# then: ends
# about: a service has not reaped a helper that has ended, and waits for a datagram, which a process outside of its tree sends after a time (unix(7); wait(2), zombies)
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import os, signal, socket, time
if os.fork(): os._exit(0)
os.setsid()
while not os.path.exists("waiter"): time.sleep(.05)
time.sleep(float(os.environ["SECS"]))
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "s")
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import os, signal, socket, subprocess, select
p = subprocess.Popen(["true"])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("s"); open("waiter", "w"); s.recv(9)
''', tree.in_call, 'recv')
