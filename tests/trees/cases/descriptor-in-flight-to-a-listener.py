# truth: healthy
# then: ends
# about: the only writing end of a pipe is in a message on a connection that its server, outside of the tree, has not accepted yet; it will, and write (unix(7), SCM_RIGHTS)
from lib import tree
tree.show('''
import array, os, socket, time
l = socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(9); r, w = os.pipe()
if os.fork() == 0:
    os.setsid(); os.close(w); os.close(r)
    if os.fork(): os._exit(0)
    time.sleep(float(os.environ["SECS"])); c = l.accept()[0]; n = array.array("i"); n.frombytes(c.recvmsg(1, socket.CMSG_SPACE(4))[1][0][2]); os.write(n[0], b"x"); os._exit(0)
os.wait(); l.close(); c = socket.socket(socket.AF_UNIX); c.connect("s"); c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))]); os.close(w); c.close(); os.read(r, 1)
''', tree.in_call, 'read')
