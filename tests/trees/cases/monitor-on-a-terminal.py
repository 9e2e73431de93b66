# truth: waiting
# verdict: WAITING WORKING UNKNOWN
# then: types q
# needs: top
# about: a monitor on a person's terminal shows itself anew every ten minutes and ends at a key (top(1), -d, q)
from lib import tree
tree.run_terminal(['top', '-d', '600'], calls=['select', 'poll'])
