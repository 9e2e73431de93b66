# truth: waiting
# verdict: WAITING UNKNOWN
# then: types exit\n
# needs: node
# about: a pane's shell came back after its agent ended: an interactive shell at its prompt waits for a person (bash(1), INVOCATION)
from lib import tree
tree.run_terminal(['bash', '-c', 'node -e "process.exit(1)"; exec bash --norc -i'], calls=['select', 'read'])
