# truth: waiting
# verdict: WAITING UNKNOWN
# then: run python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("driver")'
# about: a browser's processes (zygote, renderer, broker) are idle; its driver listens for a client and sends no command (Chromium, --remote-debugging-pipe)
import os
from lib import tree
p = tree.browser(None)
tree.until(os.path.exists, f'{tree.D}/driver')
tree.ready(p.pid)
p.wait()
