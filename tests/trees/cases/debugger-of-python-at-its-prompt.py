# truth: waiting
# verdict: WAITING UNKNOWN
# then: types q\n
# about: a breakpoint in a program that a person started at a terminal (Python, pdb)
from lib import tree
tree.run_terminal(['python3', '-c', 'breakpoint()'], calls=['select', 'read', 'poll'])
