# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: pts/|/dev/|terminal
# certain: no
# about: the agent reads a device that is not its terminal, opened with O_NOCTTY, as a serial line (open(2), termios(3))
import os
import pty
from lib import tree
master, slave = pty.openpty()
code = f'import os; fd = os.open({os.ttyname(slave)!r}, os.O_RDONLY | os.O_NOCTTY); os.read(fd, 10)'
os.environ['PYTHONHOME'] = __import__('sys').prefix
tree.run_terminal(['bash', '-c', 'exec -a claude python3 -c "$0"', code], calls=['read'])
