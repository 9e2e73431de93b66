# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: sha256sum
# needs: node sha256sum
# about: sha256sum(1) without a file reads stdin; the variable is empty. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)

p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['bash', '-c', 'f=; sha256sum $f'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'sha256sum')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
