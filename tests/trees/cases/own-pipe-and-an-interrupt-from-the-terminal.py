# truth: healthy
# unseen: every Python handles SIGINT, and whether somebody will type it cannot be seen
# then: ends
# about: a program reads a pipe of its own, and its driver, which sleeps, then types the terminal's interrupt character (termios(3), VINTR, ISIG)
import os, time, sys
from lib import tree
pid, fd = tree.terminal(['python3', '-c', '''
import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler)
r, w = os.pipe()
try: os.read(r, 1)
except KeyboardInterrupt: os._exit(0)
'''])
tree.announce(pid, tree.in_call, pid, 'read')
time.sleep(tree.SECS)
os.write(fd, b'\x03')
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
