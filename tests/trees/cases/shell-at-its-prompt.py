# truth: waiting
# verdict: WAITING UNKNOWN
# then: types exit\n
# about: an interactive shell at its prompt waits for a person
from lib import tree
tree.run_terminal(['bash', '--norc', '-i'], calls=['select', 'read'])
