# truth: healthy
# then: ends
# about: a program's own time limit: an alarm around a blocking read of a child (alarm(2), signal)
import math
import subprocess
from lib import tree
tree.write('limit.py', '''
import math, os, signal, subprocess
class Late(Exception): pass
def late(*_): raise Late
signal.signal(signal.SIGALRM, late); signal.alarm(math.ceil(float(os.environ["SECS"])))
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
try: p.stdout.read()
except Late: p.stdin.close(); p.wait()
''')
p = subprocess.Popen(['python3', f'{tree.D}/limit.py'])
tree.until(lambda: tree.children(p.pid) and tree.in_call(p.pid, 'read'))
tree.ready(p.pid)
raise SystemExit(p.wait())
