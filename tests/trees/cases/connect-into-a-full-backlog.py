# truth: hung
# verdict: HUNG WAITING
# cause: connect|SYN|backlog|listen
# certain: no
# moves: the kernel gives up after some minutes, and the backlog's clients are the case's own
# needs: node
# about: connect() to a listener whose backlog is full: the first packet is sent again and again (tcp(7), tcp_syn_retries)
import socket
import subprocess
import sys
from lib import tree
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(0)
kept = []
for _ in range(4):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(listener.getsockname())
    kept.append(s)
port = listener.getsockname()[1]
p = tree.start('claude', ['node', '-e', 'require("net").connect(+process.argv[1], "127.0.0.1").on("error", () => {})', str(port), '-p', 'go'], stdin=subprocess.DEVNULL)


def sent():
    """Whether the process's socket is in SYN-SENT."""
    with open(f'/proc/{p.pid}/net/tcp') as f:
        rows = [line.split() for line in f]
    own = {w[9] for w in rows if w[2].endswith(f':{port:04X}') and w[3] == '02'}
    import os
    links = [os.readlink(f'/proc/{p.pid}/fd/{d}') for d in os.listdir(f'/proc/{p.pid}/fd')]
    return any(f'socket:[{n}]' in links for n in own)


tree.until(sent)
tree.ready(p.pid)
sys.exit(p.wait())
