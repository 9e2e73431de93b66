# truth: waiting
# verdict: WAITING UNKNOWN
# then: types q\n
# needs: ed
# about: ed waits at a terminal for a person's command (ed(1))
from lib import tree
tree.run_terminal(['ed', '-p', '*'], calls=['read'])
