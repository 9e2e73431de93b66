# truth: hung
# cause: stop|background|TTIN|terminal
# about: a background job reads its terminal and is stopped by SIGTTIN; the script waits for it (termios(3), background read)
from lib import tree
tree.run_terminal(['bash', '--norc', '-mc', 'cat & wait; wait; sleep 100000'], name='cat', condition=lambda pid: tree.state(pid) == 'T')
