# truth: healthy
# then: ends
# about: a parent polls the handle of its child, which ends after a time (pidfd_open(2))
from lib import tree
tree.show('''
import os, select, subprocess
p = subprocess.Popen(["sleep", os.environ["SECS"]]); s = select.poll(); s.register(os.pidfd_open(p.pid), select.POLLIN); s.poll(); p.wait()
''', tree.in_call, 'poll')
