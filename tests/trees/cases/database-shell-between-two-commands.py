# truth: healthy
# then: ends
# needs: sqlite3
# about: a host keeps a database's shell on two pipes and thinks for a time before its next command (sqlite3, command-line shell)
import subprocess
import sys
import time
from lib import tree
if len(sys.argv) == 1:
    tree.show(['python3', __file__, 'host'], lambda pid: tree.in_call(pid, 'select', 'nanosleep') and (c := tree.below(pid, 'sqlite3')) and tree.in_call(c, 'read'))
p = subprocess.Popen(['sqlite3', '-batch', ':memory:'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
p.stdin.write('select 1;\n')
p.stdin.flush()
assert p.stdout.readline() == '1\n'
time.sleep(tree.SECS)
p.stdin.write('select 2;\n.quit\n')
p.stdin.flush()
assert p.stdout.read() == '2\n'
sys.exit(p.wait())
