# truth: healthy
# then: ends
# about: a program reads a pipe of which it has both ends itself; a job beside it opens that descriptor in /proc after a time and writes (proc(5), /proc/pid/fd)
from lib import tree
tree.show('''
import os, time
r, w = os.pipe(); me = os.getpid()
if os.fork() == 0:
    os.close(r); os.close(w); time.sleep(float(os.environ["SECS"])); os.write(os.open(f"/proc/{me}/fd/{r}", os.O_WRONLY), b"x"); os._exit(0)
os.read(r, 1); os.wait()
''', tree.in_call, 'read')
