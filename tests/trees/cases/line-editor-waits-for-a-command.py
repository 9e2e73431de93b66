# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: ed
# needs: node ed
# about: ed(1) reads commands from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
open('f','w').write('x\n')
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['ed', '-s', 'f'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'ed')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
