# truth: healthy
# then: ends
# about: a service has not reaped a helper that has ended, and waits for a signal of a process outside of its tree, which sends it after a time (sigwait(3))
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import os, signal, socket, time
if os.fork(): os._exit(0)
os.setsid()
while not os.path.exists("waiter"): time.sleep(.05)
time.sleep(float(os.environ["SECS"]))
os.kill(int(open("waiter").read()), signal.SIGUSR1)
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import os, signal, socket, subprocess, select
p = subprocess.Popen(["true"])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); open("w", "w").write(str(os.getpid())); os.rename("w", "waiter"); signal.sigwait([signal.SIGUSR1])
''', tree.in_call, 'sigwait')
