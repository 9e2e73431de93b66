# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: gzip
# needs: node gzip
# about: gzip(1) without files compresses stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)

p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['sh', '-c', 'gzip >x.gz; echo done'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'gzip')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
