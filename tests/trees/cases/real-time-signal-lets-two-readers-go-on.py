# truth: healthy
# then: ends
# about: two processes read each other's pipes; the first one's handler of a real-time signal writes to the second, and a process outside of its tree queues that signal after a time (sigqueue(3), signal(7))
import os
from lib import tree, more
more.foreign('''
import os, time, signal
os.chdir("%s")
while not os.path.exists("me"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); os.kill(int(open("me").read()), signal.SIGRTMIN + 5)
''' % tree.D)
tree.show('''
import os, signal
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d); signal.signal(signal.SIGRTMIN + 5, lambda *_: os.write(b, b"x"))
open("m", "w").write(str(os.getpid())); os.rename("m", "me"); os.read(c, 1); os.wait()
''', lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
