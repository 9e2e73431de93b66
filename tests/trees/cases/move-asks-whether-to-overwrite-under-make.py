# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: mv
# needs: node make
# about: mv(1): -i asks on stdin; make(1) gives its stdin to its only recipe. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
open('a','w').close(); open('b','w').close(); tree.write('Makefile','all:\n\tmv -i a b\n')
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['make', '-s', 'all'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'mv')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
