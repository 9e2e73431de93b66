# truth: hung
# cause: stop|TTOU
# culprit: stty|bash
# about: a background job changes its terminal and is stopped by SIGTTOU; the script reads the job's output to its end (termios(3), tcsetattr from a background process group)
import os
from lib import tree
tree.write('run.sh', 'set -m\nmkfifo out\nsh -c "stty -echo; echo over" >out &\nread x <out\n')
tree.run_terminal(['bash', '-c', f'cd {tree.D}; . ./run.sh'], name='stty', condition=lambda pid: tree.state(pid) == 'T')
