# truth: hung
# cause: pipe|stdin|held|holds|keep|open
# culprit: pause|python3
# needs: node
# about: a tool server's host has gone; another of the host's children has inherited the writing end of its stdin and never writes (pipe(7); JSON-RPC over stdio)
import os
import signal
import subprocess
import sys
from lib import tree
if len(sys.argv) > 1:
    r, w = os.pipe()
    code = 'process.stdin.on("data", d => process.stdout.write(`{"jsonrpc":"2.0","id":1,"result":{}}\\n`)); process.stdin.on("end", () => process.exit(0)); require("fs").writeFileSync("up", "")'
    server = subprocess.Popen(['node', '-e', code], stdin=r, stdout=open('answers', 'w'), start_new_session=True)
    os.close(r)
    tree.until(os.path.exists, 'up')
    os.write(w, b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    tree.until(os.path.getsize, 'answers')
    os.set_inheritable(w, True)
    stray = subprocess.Popen(['python3', '-c', 'import signal; open("strays", "w").close(); signal.pause()'], stdin=subprocess.DEVNULL, close_fds=False, start_new_session=True)
    tree.until(os.path.exists, 'strays')
    print(server.pid, flush=True)
    os._exit(0)
host = subprocess.Popen(['python3', __file__, 'host'], cwd=tree.D, stdout=subprocess.PIPE)
server = int(host.stdout.readline())
host.wait()
tree.until(tree.in_call, server, 'epoll')
tree.ready(server)
signal.pause()
