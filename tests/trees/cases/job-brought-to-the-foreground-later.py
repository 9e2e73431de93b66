# truth: healthy
# unseen: what the driver of a terminal will be told to type cannot be seen
# then: ends
# about: a background job of an interactive shell is stopped since it reads its terminal; the driver types `fg` and the job's line when a program outside of its tree tells it to, after a time (bash(1), JOB CONTROL; termios(3))
import os, subprocess
from lib import tree
os.chdir(tree.D)
os.mkfifo('orders')
subprocess.Popen(['bash', '-c', 'exec >orders; sleep "$SECS"; echo fg; sleep 1; echo a line; sleep 1; echo exit'], start_new_session=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
pid, fd = tree.terminal(['bash', '--noprofile', '--norc', '-i'])
os.write(fd, b'head -n1 & \r')
def settled():
    found = tree.below(pid, 'head')
    return found and tree.state(found) == 'T'
tree.announce(pid, settled)
import select, sys
orders = open('orders', 'rb', buffering=0)
sources = [fd, orders]
while True:
    for one in select.select(sources, [], [])[0]:
        if one is orders:
            data = os.read(orders.fileno(), 99)
            if data: os.write(fd, data.replace(b'\n', b'\r'))
            else: sources.remove(orders)
        else:
            try: data = os.read(fd, 65536)
            except OSError: data = b''
            if not data: sys.exit(tree.code(os.waitpid(pid, 0)[1]))
