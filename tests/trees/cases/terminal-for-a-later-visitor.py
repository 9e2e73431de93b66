# truth: healthy
# then: ends
# about: a program has made a terminal, keeps both sides of it open and reads what a visitor of that terminal writes, who comes from outside of the tree after a time (pty(7); qemu, -serial pty)
import subprocess
from lib import tree
tree.show('''
import os, pty, tty, time
m, s = pty.openpty(); tty.setraw(s); name = os.ttyname(s)
if os.fork() == 0:
    os.setsid(); os.close(m); os.close(s)
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); os.write(os.open(name, os.O_RDWR | os.O_NOCTTY), b"x"); time.sleep(1); os._exit(0)
os.wait(); os.read(m, 1)
''', tree.in_call, 'read')
