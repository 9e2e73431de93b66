# truth: healthy
# then: ends
# about: an alarm's handler writes into a pipe that the same thread reads (signal-safety(7), the self-pipe trick)
import subprocess
from lib import tree
code = 'import math, os, signal\nr, w = os.pipe(); signal.signal(14, lambda *_: os.write(w, b"x")); signal.alarm(math.ceil(float(os.environ["SECS"]))); os.read(r, 1)'
p = subprocess.Popen(['python3', '-c', code])
tree.until(tree.in_call, p.pid, 'read')
tree.ready(p.pid)
raise SystemExit(p.wait())
