# truth: healthy
# then: ends
# about: a driver waits for its terminal's program and for another child; the program waits for a line, and the other child says one after a time (select(2), pty(7))
import os
import select
import subprocess
import sys
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'driver'], lambda pid: tree.in_call(pid, 'select') and (c := tree.below(pid, 'cat')) and tree.in_call(c, 'read'))
other = subprocess.Popen(['sh', '-c', 'sleep "$SECS"; echo go'], stdout=subprocess.PIPE)
pid, fd = tree.terminal(['cat'])
seen = b''
while b'go' not in seen:
    for one in select.select([fd, other.stdout], [], [])[0]:
        if one is other.stdout:
            os.write(fd, one.readline() + b'\x04')
            other.wait()
        else:
            seen += os.read(fd, 99)
os.write(fd, b'\x04')
sys.exit(tree.code(os.waitpid(pid, 0)[1]))
