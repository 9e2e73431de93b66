# truth: waiting
# verdict: WAITING UNKNOWN
# then: types quit\n
# needs: ftp
# about: a person's ftp waits at its prompt for the next command (ftp(1))
from lib import tree
tree.run_terminal(['ftp', '-n'], calls=['read', 'poll', 'select'])
