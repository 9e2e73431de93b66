# truth: healthy
# then: ends
# about: a screen program reads a pipe of its own, to which its handler of SIGWINCH writes; its driver changes the terminal's size after a time (ioctl_tty(2), TIOCSWINSZ; signal-safety(7))
import os, fcntl, struct, termios, time, sys
from lib import tree
pid, fd = tree.terminal(['python3', '-c', '''
import os, signal
r, w = os.pipe(); signal.signal(signal.SIGWINCH, lambda *_: os.write(w, b"x")); os.read(r, 1)
'''])
tree.announce(pid, tree.in_call, pid, 'read')
time.sleep(tree.SECS)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
