# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: find
# needs: node find
# about: find(1): -ok asks first, and reads the answer from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
open('a','w').close()
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['find', 'a', '-ok', 'rm', '{}', ';'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'find')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
