# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# about: timeout(1), kill(2): signal 0 (-s 0) only checks; when its time is over timeout sends nothing, and waits on.
import os, subprocess, time
from lib import tree
p = subprocess.Popen(['timeout', '-s', 'CONT', '1', 'python3', '-c', 'import os,signal; signal.signal(18,1); r, w = os.pipe(); os.read(r, 1)'])
def there():
    k = tree.below(p.pid, 'python3'); return k and tree.in_call(k, 'read')
tree.until(there); time.sleep(3); tree.ready(p.pid); p.wait()
