# truth: healthy
# then: ends
# unseen: nothing tells that a process will open another one's descriptor in /proc
# about: a program reads a pipe of which it has both ends itself; a process outside of its tree opens that descriptor in /proc after a time and writes (proc(5), /proc/pid/fd)
from lib import tree
tree.show('''
import os, time
r, w = os.pipe(); me = os.getpid()
if os.fork() == 0:
    os.close(r); os.close(w); os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.write(os.open(f"/proc/{me}/fd/{r}", os.O_WRONLY), b"x"); os._exit(0)
os.wait(); os.read(r, 1)
''', tree.in_call, 'read')
