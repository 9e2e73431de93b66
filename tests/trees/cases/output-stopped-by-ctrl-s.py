# truth: hung
# cause: Ctrl-S|Ctrl-Q|XOFF|stopped|flow
# culprit:
# about: a person's Ctrl-S has stopped a terminal's output, which is read all the same (termios(3), IXON)
import os
import sys
import threading
from lib import tree
os.environ['PYTHONHOME'] = sys.prefix
pid, fd = tree.terminal(['bash', '-c', 'exec -a claude python3 -c "while True: print(\'x\' * 200, flush=True)"'])
def read():
    while os.read(fd, 65536): pass
threading.Thread(target=read, daemon=True).start()
tree.until(tree.below, os.getpid(), 'python3')
os.write(fd, b'\x13')
tree.until(lambda: all(tree.in_call(pid, 'write') for _ in range(20)))
tree.ready(pid)
os.waitpid(pid, 0)
