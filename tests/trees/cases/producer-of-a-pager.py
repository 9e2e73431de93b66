# truth: waiting
# verdict: WAITING WORKING UNKNOWN
# then: types q
# needs: less
# about: a producer waits in a full pipe of a pager, which shows its first page to a person (less(1), q)
import os
from lib import tree
os.environ['LESS'] = ''
tree.run_terminal(['bash', '-c', 'seq 1 1000000 | less; exit 0'], condition=lambda pid: tree.below(pid, 'seq') and tree.in_call(tree.below(pid, 'seq'), 'write'))
