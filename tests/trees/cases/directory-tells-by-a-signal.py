# truth: healthy
# then: ends
# about: a program pauses until SIGIO tells it of a new file in a folder, which a process outside of its tree makes after a time (fcntl(2), F_NOTIFY)
import os
from lib import tree, more
os.mkdir(f'{tree.D}/box')
more.foreign('import os, time; time.sleep(float(os.environ["SECS"])); open("%s/box/new", "w").close()' % tree.D)
tree.show('''
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, lambda *_: sys.exit(0))
fd = os.open("box", os.O_RDONLY); fcntl.fcntl(fd, fcntl.F_NOTIFY, fcntl.DN_CREATE | fcntl.DN_MULTISHOT)
signal.pause()
''', tree.in_call, 'pause')
