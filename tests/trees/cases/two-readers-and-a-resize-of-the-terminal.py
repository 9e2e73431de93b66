# truth: healthy
# then: ends
# about: two processes on a terminal read each other's pipes; the first one's handler of SIGWINCH writes to the second, as a screen program's does that draws itself anew; the driver changes the terminal's size after a time (ioctl_tty(2), TIOCSWINSZ)
import os, fcntl, struct, termios, time, sys
from lib import tree
pid, fd = tree.terminal(['python3', '-c', '''
import os, signal
a, b = os.pipe(); c, d = os.pipe()
if os.fork() == 0:
    os.close(b); os.close(c); os.read(a, 1); os.write(d, b"y"); os._exit(0)
os.close(a); os.close(d); signal.signal(signal.SIGWINCH, lambda *_: os.write(b, b"x"))
os.read(c, 1); os.wait()
'''])
tree.announce(pid, lambda: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'read'))
time.sleep(tree.SECS)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
