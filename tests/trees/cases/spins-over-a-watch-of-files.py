# truth: healthy
# then: ends
# about: a script reads a watch of a folder that does not block again and again; a job outside of its tree makes a file after a time (inotify(7), IN_NONBLOCK)
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
f = libc.inotify_init1(os.O_NONBLOCK); os.mkdir("w"); libc.inotify_add_watch(f, b"w", 0x100); foreign(lambda: os.mkdir("w/x"))
open("begun", "w")
while True:
    try:
        if os.read(f, 512): break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
