# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: cp
# needs: node cp
# about: cp(1): -i prompts before overwriting, and reads the answer from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
open('a','w').close(); open('b','w').close()
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['cp', '-i', 'a', 'b'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'cp')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
