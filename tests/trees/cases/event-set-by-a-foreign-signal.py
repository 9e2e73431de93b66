# truth: healthy
# then: ends
# about: two threads of a service wait for an event that its signal handler sets; a process outside of its tree sends the signal (Python, signal.signal, threading.Event)
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
import os, signal, threading
e = threading.Event()
signal.signal(signal.SIGUSR1, lambda *a: e.set())
open("waiter.new", "w").write(str(os.getpid())); os.rename("waiter.new", "waiter")
threading.Thread(target=e.wait).start(); e.wait()
''', lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'futex'))
