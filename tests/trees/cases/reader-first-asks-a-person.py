# truth: waiting
# verdict: WAITING WORKING UNKNOWN
# then: types y\n
# about: a producer waits in a full pipe; its reader first asks the person at the terminal whether to go on (pipe(7); read </dev/tty)
from lib import tree
tree.run_terminal(['bash', '-c', 'seq 1 1000000 | (read -rp "Import all? " x </dev/tty; cat >/dev/null); exit 0'], condition=lambda pid: tree.below(pid, 'seq') and tree.in_call(tree.below(pid, 'seq'), 'write'))
