# truth: healthy
# then: ends
# about: a script polls a queue that does not block and its clock again and again, without a pause, for a time (a busy event loop with a deadline; select(2) with a limit of zero)
from lib import tree
tree.show('''
import os, select, time
r, w = os.pipe(); os.set_blocking(r, False); end = time.monotonic() + float(os.environ["SECS"]); open("begun", "w")
while time.monotonic() < end:
    try: os.read(r, 1)
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
