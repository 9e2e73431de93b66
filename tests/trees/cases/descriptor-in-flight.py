# truth: healthy
# then: ends
# about: the only writing end of a pipe is in a message that a process has not received yet; it will, and write (unix(7), SCM_RIGHTS)
from lib import tree
tree.show('''
import array, os, socket, time
r, w = os.pipe(); a, b = socket.socketpair()
if os.fork() == 0:
    os.close(w); os.close(r); a.close(); time.sleep(float(os.environ["SECS"]))
    fds = array.array("i"); fds.frombytes(b.recvmsg(1, socket.CMSG_SPACE(4))[1][0][2]); os.write(fds[0], b"x"); os._exit(0)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))]); os.close(w); b.close(); a.close()
os.read(r, 1); os.wait()
''', tree.in_call, 'read')
