# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: ssh-keygen
# needs: node ssh-keygen
# about: ssh-keygen(1) asks whether to overwrite a key that exists. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
subprocess.run(['ssh-keygen','-q','-t','ed25519','-N','','-f','k'])
p = tree.agent('claude', '-p', 'go', do={'tools': [{'cmd': ['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', 'k'], 'stdio': ['pipe', 'pipe', 'pipe']}], 'end': True}, stdin=subprocess.DEVNULL, start_new_session=True)
def there():
    k = tree.below(p.pid, 'ssh-keygen')
    return k and tree.any_in_call(k, 'read', 'poll', 'select', 'epoll', 'recv')
tree.until(there)
tree.ready(p.pid)
p.wait()
