# truth: healthy
# unseen: a descriptor that is in a message may be closed by the process that takes it, and is in no table until then
# then: ends
# about: the process that took a lock is gone; its open file is in a message, which a process outside of the tree takes after a time and closes (flock(2), unix(7), SCM_RIGHTS)
from lib import tree
tree.show('''
import array, fcntl, os, socket, time
a, b = socket.socketpair()
if os.fork() == 0:
    f = os.open("lock", os.O_RDWR | os.O_CREAT); fcntl.flock(f, fcntl.LOCK_EX)
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))]); os._exit(0)
os.wait()
if os.fork() == 0:
    os.setsid(); a.close()
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); b.recvmsg(1, socket.CMSG_SPACE(4)); os._exit(0)
os.wait(); a.close(); b.close(); g = os.open("lock", os.O_RDWR); fcntl.flock(g, fcntl.LOCK_EX)
''', tree.in_call, 'flock')
