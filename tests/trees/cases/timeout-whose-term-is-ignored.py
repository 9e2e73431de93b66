# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# about: timeout(1): without --kill-after it sends TERM once, and then waits for the command without a limit; the command ignores TERM and reads an unnamed pipe that only it holds.
import os, subprocess, time
from lib import tree
p = subprocess.Popen(['timeout', '1', 'python3', '-c', 'import os,signal; signal.signal(15,1); r, w = os.pipe(); os.read(r, 1)'])
def there():
    k = tree.below(p.pid, 'python3'); return k and tree.in_call(k, 'read')
tree.until(there); time.sleep(3); tree.ready(p.pid); p.wait()
