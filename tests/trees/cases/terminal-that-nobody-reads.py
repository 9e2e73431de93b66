# truth: hung
# cause: terminal|read
# about: a program writes to a terminal whose other end is open, and nobody reads there (pty(7))
import os
import signal
from lib import tree
pid, fd = tree.terminal(['python3', '-c', 'while True: print("x" * 200)'])
tree.until(lambda: all(tree.in_call(pid, 'write') for _ in range(20)))
tree.ready(pid)
signal.pause()
