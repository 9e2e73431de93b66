# truth: healthy
# then: ends
# about: the holder of a lease reads a pipe of its own, whose only writer is the handler of SIGIO; a process outside of its tree opens the leased file after a time (fcntl(2), F_SETLEASE: the holder is notified by a signal)
import os
from lib import tree, more
tree.write('file', 'x')
more.foreign('import os, time; time.sleep(float(os.environ["SECS"])); open("%s/file", "w").close()' % tree.D)
tree.show('''
import fcntl, os, signal
r, w = os.pipe(); f = os.open("file", os.O_RDONLY)
signal.signal(signal.SIGIO, lambda *_: os.write(w, b"x"))
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)
os.read(r, 1); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_UNLCK)
''', tree.in_call, 'read')
