# truth: hung
# verdict: HUNG WAITING
# cause: pipe|output|open|end
# culprit: memcached|redis
# needs: redis-server
# moves: the server's own clock ticks ten times a second
# about: a test's fixture starts redis as a daemon of the shell, `redis-server &`, whose output is the runner's pipe; the test is over, and the runner reads that pipe to its end (subprocess, communicate; xdist and jest wait likewise)
from lib import tree, more
tree.show('''
import subprocess
subprocess.run(["bash", "-c", "redis-server --port 0 --unixsocket s --save '' & until [ -S s ]; do sleep .1; done; exit 0"], stdout=-1)
''', lambda pid: more.there('s') and tree.in_call(pid, 'read', 'poll') and all(tree.state(c) == 'Z' for c in tree.children(pid)))
