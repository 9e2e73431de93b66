# truth: hung
# verdict: HUNG WORKING
# cause: processor|CPU|spin|epoll|loop
# moves: it spins
# certain: no
# about: an event loop is told again and again of a readable pipe that nobody reads (epoll(7), level-triggered)
import sys
from lib import tree
tree.write('spin.py', 'import os, select\nr, w = os.pipe(); os.write(w, b"x"); e = select.epoll(); e.register(r, select.EPOLLIN)\nwhile True: e.poll()\n')
import os
os.environ['PYTHONHOME'] = sys.prefix
tree.run_terminal(['bash', '-c', 'exec -a gemini python3 "$D/spin.py"'], condition=lambda pid: int(open(f'/proc/{pid}/stat').read().rpartition(') ')[2].split()[11]) > 20)
