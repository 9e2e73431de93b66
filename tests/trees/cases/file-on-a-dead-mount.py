# truth: hung
# cause: mount|nfs|fuse
# needs: root /dev/fuse
# brief: the mount is ended after 30 s, so that nothing of the machine stays blocked
# about: the server of a mount never answers a lookup: a process below it blocks in stat(2) (fuse(4))
import ctypes
import os
import struct
import subprocess
import sys
import threading
from lib import tree
mount = f'{tree.D}/mount'
os.mkdir(mount)
fuse = os.open('/dev/fuse', os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b'fuse', mount.encode(), b'fuse.nfs', 0, b'fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other' % fuse):
    sys.exit(os.strerror(ctypes.get_errno()))
tree.write('cleanup', f'umount -l {mount} 2>/dev/null; true\n')
asked = threading.Event()


def attributes(node, mode):
    return struct.pack('<QQQQQQIIIIIIIIII', node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def serve():
    """Answers what mounting and one look at the folder need, and no lookup of a name."""
    while True:
        request = os.read(fuse, 1 << 20)
        _, call, number, node = struct.unpack('<IIQQ', request[:24])
        answer = None
        if call == 26:
            answer = struct.pack('<IIIIHHIIHHIIIII', 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, 0, 0, 0, 0, 0)
        elif call == 3 and node == 1:
            answer = struct.pack('<QII', 1, 0, 0) + attributes(1, 0o40755)
        elif call == 1:
            asked.set()
        elif call in (14, 27):
            answer = struct.pack('<QII', 7, 0, 0)
        if answer is not None:
            os.write(fuse, struct.pack('<IiQ', 16 + len(answer), 0, number) + answer)


threading.Thread(target=serve, daemon=True).start()


def stop():
    subprocess.run(['umount', '-l', mount])
    os._exit(0)


threading.Timer(30, stop).start()
p = tree.start('copilot', ['python3', '-c', f'import os; os.stat({mount!r} + "/notes")'])
asked.wait()
tree.until(tree.in_call, p.pid, 'stat')
tree.ready(p.pid)
p.wait()
