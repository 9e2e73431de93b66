# truth: healthy
# then: ends
# about: a screen program pauses until its terminal's size changes; its driver changes that after a time (termios(3); ioctl_tty(2), TIOCSWINSZ: SIGWINCH)
import os, fcntl, struct, termios, time, sys
from lib import tree
pid, fd = tree.terminal(['python3', '-c', '''
import signal, sys
signal.signal(signal.SIGWINCH, lambda *_: sys.exit(0))
while True: signal.pause()
'''])
tree.announce(pid, tree.in_call, pid, 'pause')
time.sleep(tree.SECS)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
