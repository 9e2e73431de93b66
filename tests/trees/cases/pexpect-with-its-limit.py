# truth: healthy
# then: ends
# about: a script reads a terminal of a program that waits for a line; it gives up after its limit and ends the program (pexpect, spawn: timeout, default 30 s)
from lib import tree
tree.show('''
import os, pexpect
c = pexpect.spawn("cat", timeout=float(os.environ["SECS"])); c.expect([pexpect.TIMEOUT, "ready"]); c.close()
''', lambda pid: tree.in_call(pid, 'select', 'poll') and tree.child_in_call(pid, 'read'))
