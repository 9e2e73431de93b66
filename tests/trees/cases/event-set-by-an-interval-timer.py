# truth: healthy
# then: ends
# about: the only thread waits for an event, which the handler of its own interval timer sets after a time (setitimer(2), ITIMER_REAL; Python, threading.Event.wait)
from lib import tree
tree.show('''
import os, signal, threading
done = threading.Event()
signal.signal(signal.SIGALRM, lambda *_: done.set())
signal.setitimer(signal.ITIMER_REAL, float(os.environ["SECS"]))
done.wait()
''', lambda pid: tree.in_call(pid, 'futex'))
