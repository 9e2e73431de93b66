# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: ttyS|serial|/dev/
# certain: no
# needs: root /dev/ttyS0
# about: an agent on a terminal reads a serial line on which nothing comes (termios(3))
import os
import sys
from lib import tree
os.environ['PYTHONHOME'] = sys.prefix
code = 'import os; fd = os.open("/dev/ttyS0", os.O_RDONLY | os.O_NOCTTY); os.read(fd, 10)'
tree.run_terminal(['bash', '-c', 'exec -a claude python3 -c "$0"', code], calls=['read'])
