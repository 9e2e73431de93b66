# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: git
# needs: node git
# about: git-add(1): -p asks about each hunk on stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
subprocess.run('git init -q && echo a >f && git add f && git -c user.name=a -c user.email=a@b commit -qm a && echo b >f',shell=True)
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['git', 'add', '-p'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'git')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
