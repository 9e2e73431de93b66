# truth: healthy
# then: ends
# about: a program's name in /proc looks like the fields of a zombie, its arguments have control sequences, a newline, a mark of right-to-left writing and a hundred thousand letters; it sleeps (proc(5), /proc/pid/stat: comm may have any byte)
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
os.mkdir('x) Z 1 1 (y')
CODE = 'import ctypes, os, time; ctypes.CDLL(None).prctl(15, b") Z 1 1 1 0", 0, 0, 0); open("begun", "w"); time.sleep(float(os.environ["SECS"]))'
p = subprocess.Popen(['claude\x1b]0;pwned\x07\n\u202e-p', '-c', CODE, 'a' * 100000, '\x1b[2J', 'pipe:[1]', '--print'], executable=sys.executable, env=dict(os.environ, PYTHONHOME=sys.prefix))
tree.until(lambda: os.path.exists('begun') and tree.in_call(p.pid, 'nanosleep'))
tree.ready(p.pid)
sys.exit(p.wait())
