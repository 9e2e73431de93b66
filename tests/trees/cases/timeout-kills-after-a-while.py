# truth: healthy
# then: ends 137
# about: timeout(1): -k DURATION arms a second timer when the first signal was in vain: after TERM was ignored KILL follows SECS later. The command reads an unnamed pipe that only it holds.
import os, subprocess, sys, time
from lib import tree
p = subprocess.Popen(['timeout', '-k', str(tree.SECS), '1', 'python3', '-c', 'import os,signal; signal.signal(15,1); r, w = os.pipe(); os.read(r, 1)'], start_new_session=True)
def there():
    k = tree.below(p.pid, 'python3'); return k and tree.in_call(k, 'read')
tree.until(there); time.sleep(1.2); tree.ready(p.pid)
r = p.wait(); sys.exit(r if r >= 0 else 128 - r)
