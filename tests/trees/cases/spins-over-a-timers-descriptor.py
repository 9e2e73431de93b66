# truth: healthy
# then: ends
# about: a script reads an armed timer that does not block again and again until it has run out (timerfd_create(2), TFD_NONBLOCK)
from lib import tree
tree.show('''
import ctypes, os, signal, struct, time
me = os.getpid(); libc = ctypes.CDLL(None, use_errno=True)
def foreign(do):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        for n in range(3, 20):
            try: os.close(n)
            except OSError: pass
        time.sleep(float(os.environ["SECS"])); do(); os._exit(0)
    os.wait()
f = libc.timerfd_create(1, os.O_NONBLOCK); libc.timerfd_settime(f, 0, struct.pack("4q", 0, 0, int(float(os.environ["SECS"])), 1), None)
open("begun", "w")
while True:
    try:
        if os.read(f, 512): break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
