# truth: healthy
# then: ends
# about: a host keeps an interpreter on a terminal, as agents' shell tools do, and thinks for a time before its next line (pty(7))
import os
import sys
import time
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'host'], lambda pid: tree.in_call(pid, 'select', 'nanosleep') and tree.child_in_call(pid, 'select', 'poll', 'read'))
pid, fd = tree.terminal(['bash', '--norc', '--noprofile', '-i'], dict(os.environ, PS1='> ', TERM='dumb'))
shown = b''
while not shown.endswith(b'> '):
    shown += os.read(fd, 99)
time.sleep(tree.SECS)
os.write(fd, b'exit\n')
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
