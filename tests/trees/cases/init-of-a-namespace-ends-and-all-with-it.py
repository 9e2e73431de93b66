# truth: healthy
# then: ends
# needs: unshare root
# about: pid_namespaces(7): when the first process of a namespace ends, the kernel kills all others in it. A parent there waits for its child, which reads its own pipe; the first process sleeps and then ends.
import os, subprocess, sys
from lib import tree
p = subprocess.Popen(['unshare', '-pf', 'python3', '-c', '''
import os, time
if os.fork() == 0:
    os.setsid()
    open('x', 'w').close()
    k = os.fork()
    if k == 0:
        r, w = os.pipe(); os.read(r, 1)
    os.waitpid(k, 0); os._exit(1)
time.sleep(float(os.environ['SECS'])); os._exit(0)
'''], cwd=tree.D)
def inner():
    one = tree.children(tree.children(p.pid)[0])
    return one and tree.in_call(one[0], 'wait') and tree.in_call(tree.children(one[0])[0], 'read') and one[0]
tree.ready(tree.until(inner)); sys.exit(p.wait())
