# truth: waiting
# verdict: WAITING UNKNOWN
# then: types 1\n
# about: a shell's menu waits for a person's choice at a terminal (bash(1), select)
from lib import tree
tree.run_terminal(['bash', '--norc', '-c', 'select one in yes no; do exit 0; done'], calls=['read'])
