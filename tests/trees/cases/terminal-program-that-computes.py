# truth: healthy
# then: ends
# about: a driver reads a terminal on which its program says nothing for a time, with no limit (pty(7))
import os
import sys
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'driver'], lambda pid: tree.in_call(pid, 'read') and tree.child_in_call(pid, 'nanosleep', 'select'))
pid, fd = tree.terminal(['python3', '-c', 'import os, time; time.sleep(float(os.environ["SECS"])); print("done")'])
assert os.read(fd, 99).startswith(b'done')
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
