# truth: healthy
# unseen: any process with the right may copy any descriptor of another one; nothing tells beforehand that it will
# then: ends
# needs: root
# about: a program reads a pipe of its own; a process outside of its tree copies the writing end after a time and writes (pidfd_getfd(2))
import os
from lib import tree, more
more.foreign('''
import ctypes, os, time
os.chdir("%s")
while not os.path.exists("me"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); pid, w = map(int, open("me").read().split()); h = os.pidfd_open(pid)
f = ctypes.CDLL(None).syscall(438, h, w, 0); os.write(f, b"x")
''' % tree.D)
tree.show('''
import os
r, w = os.pipe(); open("m", "w").write(f"{os.getpid()} {w}"); os.rename("m", "me"); os.read(r, 1)
''', tree.in_call, 'read')
