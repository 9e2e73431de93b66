# truth: healthy
# then: ends
# needs: root /dev/fuse
# about: a command looks up a name on a mount whose server, outside of its tree, answers after a time, as one in a cloud does (fuse(4))
import os, sys
from lib import tree, more
os.mkdir(f'{tree.D}/mount')
tree.write('cleanup', f'umount -l {tree.D}/mount 2>/dev/null; true\n')
more.foreign('''
import ctypes, os, struct, time
D = "%s"; os.chdir(D); fuse = os.open("/dev/fuse", os.O_RDWR)
if ctypes.CDLL(None).mount(b"fuse", (D + "/mount").encode(), b"fuse.cloud", 0, b"fd=%%d,rootmode=40000,user_id=0,group_id=0,allow_other" %% fuse): os._exit(1)
attr = lambda node, mode: struct.pack("<QQQQQQIIIIIIIIII", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
open("mounted", "w").close()
while True:
    try: request = os.read(fuse, 1 << 20)
    except OSError: break
    _, call, number, node = struct.unpack("<IIQQ", request[:24]); answer, error = None, 0
    if call == 26: answer = struct.pack("<IIIIHHIIHHIIIII", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, 0, 0, 0, 0, 0)
    elif call == 3: answer = struct.pack("<QII", 1, 0, 0) + attr(1, 0o40755)
    elif call == 1: open("asked", "w").close(); time.sleep(float(os.environ["SECS"])); answer, error = b"", -2
    elif call in (14, 27): answer = struct.pack("<QII", 7, 0, 0)
    else: answer, error = b"", -38
    if call in (2, 42): continue
    os.write(fuse, struct.pack("<IiQ", 16 + len(answer), error, number) + answer)
''' % tree.D)
tree.until(more.there, 'mounted')
tree.show(['sh', '-c', f'[ -e {tree.D}/mount/notes ]; umount -l {tree.D}/mount'], lambda pid: more.there('asked'), cwd='/')
