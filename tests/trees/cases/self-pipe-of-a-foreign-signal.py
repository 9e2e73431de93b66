# truth: healthy
# then: ends
# about: a service sleeps in a read of its self-pipe until it gets a signal, which a process outside of its tree sends (signal(7); Python, signal.set_wakeup_fd)
import subprocess
from lib import tree
subprocess.run(['python3', '-c', '''
import os, time
if os.fork(): os._exit(0)
os.setsid()
while not os.path.exists("waiter"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); os.kill(int(open("waiter").read()), 10)
'''], cwd=tree.D, stdout=subprocess.DEVNULL)
tree.show('''
import os, signal
r, w = os.pipe(); os.set_blocking(w, False)
signal.signal(signal.SIGUSR1, lambda *a: None); signal.set_wakeup_fd(w)
open("waiter.new", "w").write(str(os.getpid())); os.rename("waiter.new", "waiter")
os.read(r, 1)
''', lambda pid: tree.in_call(pid, 'read'))
