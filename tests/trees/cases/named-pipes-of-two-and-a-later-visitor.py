# truth: healthy
# then: ends
# about: a controller and its daemon each read a named pipe that the other one has open for writing; a command-line tool from outside of the tree opens the daemon's pipe after a time and writes (fifo(7))
from lib import tree
tree.show('''
import os, time
os.mkfifo("in"); os.mkfifo("out")
if os.fork() == 0: i = os.open("in", os.O_RDONLY); o = os.open("out", os.O_WRONLY); os.read(i, 9); os.write(o, b"y"); os._exit(0)
i = os.open("in", os.O_WRONLY); o = os.open("out", os.O_RDONLY)
if os.fork() == 0:
    os.close(i); os.close(o); os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.write(os.open("in", os.O_WRONLY), b"x"); os._exit(0)
os.wait(); os.read(o, 9); os.wait()
''', lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
