# truth: healthy
# then: ends
# needs: node
# about: an agent's screen waits for a key; its driver waits for the screen and for a command pipe, by which a process outside of the tree has the key pressed after a time (pty(7), fifo(7))
import ctypes, json, os, select, subprocess, sys
from lib import tree
os.chdir(tree.D)
libc = ctypes.CDLL(None)
os.mkfifo("keys"); f = os.open("keys", os.O_RDWR)
subprocess.run(['python3', '-c', '''
import os, time
if os.fork(): os._exit(0)
os.setsid(); os.closerange(3, 30)
while not os.path.exists("begun"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); os.write(os.open("keys", os.O_WRONLY), b"q")
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
