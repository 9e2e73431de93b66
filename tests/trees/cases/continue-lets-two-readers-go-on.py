# truth: healthy
# then: ends
# about: two processes read each other's pipes; the first one's handler of SIGCONT writes to the second, and a scheduler outside of its tree stops and continues it after a time (signal(7))
import os
from lib import tree, more
more.foreign('''
import os, time
os.chdir("%s")
while not os.path.exists("me"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); p = int(open("me").read()); os.kill(p, 19); time.sleep(.5); os.kill(p, 18)
''' % tree.D)
tree.show('''
import os, signal
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d); signal.signal(signal.SIGCONT, lambda *_: os.write(b, b"x"))
open("m", "w").write(str(os.getpid())); os.rename("m", "me"); os.read(c, 1); os.wait()
''', lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
