# truth: healthy
# then: ends
# about: a service has not reaped a helper that has ended, and waits for a lock, which a process outside of its tree has for a time (flock(2); wait(2), zombies)
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import fcntl, os, signal, socket, time
if os.fork(): os._exit(0)
os.setsid()
f = open("lock", "w"); fcntl.flock(f, 2); open("held", "w"); time.sleep(float(os.environ["SECS"]))
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import fcntl, os, signal, socket, subprocess, select, time
p = subprocess.Popen(["true"])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
while not os.path.exists("held"): time.sleep(.05)
fcntl.flock(open("lock"), 2)
''', tree.in_call, 'flock')
