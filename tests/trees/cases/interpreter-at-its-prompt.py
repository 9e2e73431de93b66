# truth: waiting
# verdict: WAITING UNKNOWN
# then: types process.exit()\r
# needs: node
# about: an interpreter waits at its prompt for a person's next line (node, REPL)
from lib import tree
tree.run_terminal(['node', '-i'], calls=['epoll'])
