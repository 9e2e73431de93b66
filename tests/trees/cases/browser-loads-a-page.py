# truth: healthy
# then: ends
# about: a browser's renderer waits for the broker, whose network thread has a timer; the driver waits for the command's answer
import sys
from lib import tree
p = tree.browser(tree.SECS)
tree.ready(p.pid)
sys.exit(p.wait())
