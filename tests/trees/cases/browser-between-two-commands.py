# truth: waiting
# verdict: WAITING UNKNOWN
# then: run kill $(cat $D/driver)
# about: a browser's processes (zygote, renderer, broker) are idle; its driver, which a person uses, sends no command (Chromium, --remote-debugging-pipe)
import os
import subprocess
import sys
from lib import tree
tree.write('driver', str(os.getpid()))
p = tree.browser(None)
tree.ready(p.pid)
p.wait()
