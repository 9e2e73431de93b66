# truth: healthy
# then: ends
# about: a test runner reads to the end of an output that a server of the test, which ends by itself, still has (subprocess, communicate)
from lib import tree
tree.show('import subprocess\nsubprocess.run(["sh", "-c", "setsid sleep $SECS & echo started"], stdout=-1)', lambda pid: tree.in_call(pid, 'read', 'poll') and tree.state(tree.children(pid)[0]) == 'Z')
