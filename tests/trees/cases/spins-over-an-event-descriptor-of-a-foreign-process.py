# truth: healthy
# then: ends
# about: a script reads an eventfd that does not block again and again; a process outside of its tree, which has it too, adds to it after a time (eventfd(2), EFD_NONBLOCK)
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
f = os.eventfd(0, os.EFD_NONBLOCK); g = os.dup2(f, 40); foreign(lambda: os.eventfd_write(40, 1)); os.close(40)
open("begun", "w")
while True:
    try:
        if os.read(f, 512): break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
