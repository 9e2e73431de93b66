# truth: waiting
# verdict: WAITING UNKNOWN
# then: types fg\r
# about: a person stopped an agent's screen with Ctrl-Z: the shell is at its prompt, and `fg` continues it (bash(1), JOB CONTROL)
import os, sys
from lib import tree
os.chdir(tree.D)
tree.write('agent.py', 'import os, signal, sys\nsignal.signal(signal.SIGCONT, lambda *_: os.kill(os.getppid(), 9))\nos.kill(0, signal.SIGTSTP)\nsignal.pause()\n')
pid, fd = tree.terminal(['bash', '--noprofile', '--norc', '-i'])
os.write(fd, b'python3 agent.py\r')
def settled():
    found = tree.below(pid, 'python3')
    return found and tree.state(found) == 'T'
tree.announce(pid, settled)
sys.exit(tree.keep(pid, fd))
