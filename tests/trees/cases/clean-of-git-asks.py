# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: git
# needs: node git
# about: git-clean(1): -i shows what would be done, and reads a command from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
subprocess.run(['git','init','-q']); open('a','w').close()
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['git', 'clean', '-i'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'git')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
