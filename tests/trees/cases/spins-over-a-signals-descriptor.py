# truth: healthy
# then: ends
# about: a script reads a signal descriptor that does not block again and again; a process outside of its tree sends the signal after a time (signalfd(2), SFD_NONBLOCK)
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
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); m = ctypes.create_string_buffer(struct.pack("Q", 1 << 9), 8); f = libc.signalfd(-1, m, os.O_NONBLOCK); foreign(lambda: os.kill(me, signal.SIGUSR1))
if f < 0: os._exit(9)
open("begun", "w")
while True:
    try:
        if os.read(f, 512): break
    except BlockingIOError: pass
''', lambda pid: __import__('os').path.exists(tree.D + '/begun'))
