# truth: healthy
# then: ends
# about: a program waits for a signal with a limit, and does its work then (sigtimedwait(2))
from lib import tree
tree.show('import os, signal\nsignal.pthread_sigmask(0, {signal.SIGUSR1})\nsignal.sigtimedwait({signal.SIGUSR1}, float(os.environ["SECS"]))', tree.in_call, 'sigwait')
