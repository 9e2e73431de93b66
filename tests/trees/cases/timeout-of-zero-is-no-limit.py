# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# about: timeout(1): a duration of 0 disables the timeout; the command reads an unnamed pipe that only it holds.
import os, subprocess
from lib import tree
p = subprocess.Popen(['timeout', '0', 'python3', '-c', 'import os; r, w = os.pipe(); os.read(r, 1)'])
def there():
    k = tree.below(p.pid, 'python3'); return k and tree.in_call(k, 'read')
tree.until(there); tree.ready(p.pid); p.wait()
