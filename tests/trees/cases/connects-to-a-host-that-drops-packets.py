# truth: healthy
# then: ends
# brief: the kernel gives up after a minute or two (tcp_syn_retries)
# needs: root unshare ip
# if: test -c /dev/net/tun && unshare -n true
# about: connect() to a host whose packets are dropped ends with ETIMEDOUT after some tries (tcp(7), tcp_syn_retries)
from lib import tree
tree.show(['unshare', '-n', 'python3', '-c', '''
import fcntl, os, socket, struct, subprocess
t = os.open("/dev/net/tun", os.O_RDWR); fcntl.ioctl(t, 0x400454ca, struct.pack("16sH", b"t0", 0x1001))
subprocess.run("ip addr add 10.9.9.1/24 dev t0 && ip link set t0 up", shell=True, check=True)
if float(os.environ["SECS"]) < 60:
    open("/proc/sys/net/ipv4/tcp_syn_retries", "w").write("1"); open("/proc/sys/net/ipv4/tcp_syn_linear_timeouts", "w").write("0")
s = socket.socket()
try: s.connect(("10.9.9.9", 80))
except TimeoutError: os._exit(0)
os._exit(3)
'''], lambda pid: tree.in_call(pid, 'connect'))
