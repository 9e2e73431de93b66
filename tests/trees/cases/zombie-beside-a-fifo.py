# truth: healthy
# then: ends
# about: a service has not reaped a helper that has ended, and reads a FIFO that it keeps open, to which a process outside of its tree writes after a time (fifo(7))
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import os, signal, socket, time
if os.fork(): os._exit(0)
os.setsid()
while not os.path.exists("waiter"): time.sleep(.05)
time.sleep(float(os.environ["SECS"]))
open("f", "w").write("x")
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import os, signal, socket, subprocess, select
p = subprocess.Popen(["true"])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
os.mkfifo("f"); f = os.open("f", os.O_RDWR); open("waiter", "w"); os.read(f, 1)
''', tree.in_call, 'read')
