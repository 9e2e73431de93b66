# truth: healthy
# then: ends
# about: a session's first process reads a pipe of its own, to which its handler of SIGHUP writes; the terminal is closed after a time (credentials(7), controlling terminal; termios(3), modem disconnect)
import os, time, sys
from lib import tree
pid, fd = tree.terminal(['python3', '-c', '''
import os, signal
r, w = os.pipe(); signal.signal(signal.SIGHUP, lambda *_: os.write(w, b"x")); os.read(r, 1); os._exit(0)
'''])
tree.announce(pid, tree.in_call, pid, 'read')
time.sleep(tree.SECS)
os.close(fd)
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
