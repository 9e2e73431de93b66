# truth: healthy
# then: ends
# needs: root /dev/net/tun ip
# about: a tunnel's program reads the packets of a network device, the first of which comes when a process outside of its tree sends one there after a time (tun: Documentation/networking/tuntap.rst)
import os
from lib import tree, more
n = os.getpid() % 250
more.foreign('''
import os, socket, time
time.sleep(float(os.environ["SECS"])); s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b"x", ("198.19.%d.2", 9))
''' % n)
tree.show('''
import fcntl, os, struct, subprocess
f = os.open("/dev/net/tun", os.O_RDWR); fcntl.ioctl(f, 0x400454ca, struct.pack("16sH", b"tree%d", 0x1001))
for w in ("addr add 198.19.%d.1/24 dev tree%d", "link set tree%d up"): subprocess.run(["ip", *w.split()], check=True)
while os.read(f, 2000)[9] != 17: pass
''' % (n, n, n, n), tree.in_call, 'read')
