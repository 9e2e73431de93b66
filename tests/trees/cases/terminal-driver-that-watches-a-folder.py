# truth: healthy
# then: ends
# needs: node
# about: an agent's screen waits for a key; its driver waits for the screen and watches a folder, in which a process outside of the tree makes a file after a time: then it presses the key (pty(7), inotify(7))
import ctypes, json, os, select, subprocess, sys
from lib import tree
os.chdir(tree.D)
libc = ctypes.CDLL(None)
os.mkdir("keys"); f = libc.inotify_init1(os.O_CLOEXEC); libc.inotify_add_watch(f, b"keys", 0x100)
subprocess.run(['python3', '-c', '''
import os, time
if os.fork(): os._exit(0)
os.setsid(); os.closerange(3, 30)
while not os.path.exists("begun"): time.sleep(.05)
time.sleep(float(os.environ["SECS"])); os.mkdir("keys/q")
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
