# truth: healthy
# then: ends 1
# about: the main thread reads a pipe that nobody writes to; a watchdog thread of the interpreter ends the process after a time (Python, faulthandler.dump_traceback_later, exit=True)
from lib import tree
tree.show('''
import faulthandler, os
faulthandler.dump_traceback_later(float(os.environ["SECS"]), exit=True)
r, w = os.pipe()
os.read(r, 1)
''', lambda pid: tree.in_call(pid, 'read') and len(tree.threads(pid)) == 2)
