# truth: healthy
# then: ends
# needs: node
# about: an agent's screen waits for a key; its driver waits for the screen and for datagrams, by which a process outside of the tree has the key pressed after a time (pty(7), unix(7))
import ctypes, json, os, select, subprocess, sys
from lib import tree
os.chdir(tree.D)
libc = ctypes.CDLL(None)
import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind("keys"); f = s.fileno()
subprocess.run(['python3', '-c', '''
import os, time
if os.fork(): os._exit(0)
os.setsid(); os.closerange(3, 30)
while not os.path.exists("begun"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"q", "keys")
'''], stdout=subprocess.DEVNULL)
os.environ['DO'] = json.dumps({'raw': True})
pid, fd = tree.terminal(['bash', '-c', 'exec -a claude node "$LIB/agent.js"'])
shown = os.read(fd, 999)
def idle():
    return tree.in_call(pid, 'epoll') and (open('begun', 'w') or True)
tree.announce(pid, idle)
while True:
    for one in select.select([fd, f], [], [])[0]:
        if one == f: os.read(f, 999); os.write(fd, b'q')
        else:
            try: data = os.read(fd, 65536)
            except OSError: data = b''
            if not data: sys.exit(tree.code(os.waitpid(pid, 0)[1]))
