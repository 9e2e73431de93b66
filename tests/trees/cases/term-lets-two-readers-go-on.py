# truth: healthy
# then: ends
# about: two processes read each other's pipes; the first one's handler of SIGTERM writes to the second, as a server's does that ends in order, and a process outside of its tree sends that signal after a time (signal(7))
import os
from lib import tree, more
more.foreign('''
import os, time
os.chdir("%s")
while not os.path.exists("me"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); os.kill(int(open("me").read()), 15)
''' % tree.D)
tree.show('''
import os, signal
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d); signal.signal(signal.SIGTERM, lambda *_: os.write(b, b"x"))
open("m", "w").write(str(os.getpid())); os.rename("m", "me"); os.read(c, 1); os.wait()
''', lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
