# truth: hung
# cause: pipe|each other|bwrap
# culprit: python
# needs: bwrap
# if: bwrap --dev-bind / / true
# about: bubblewrap waits for a byte of its launcher before it runs the command, and the launcher waits for its end without writing one (bwrap(1), --block-fd)
from lib import tree
tree.show('''
import os, subprocess
r, w = os.pipe()
subprocess.run(["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--block-fd", str(r), "true"], pass_fds=[r])
os.write(w, b"x")
''', lambda pid: tree.below(pid, 'bwrap') and any(tree.in_call(c, 'read') for b in tree.children(pid) for c in [b, *tree.children(b)]))
