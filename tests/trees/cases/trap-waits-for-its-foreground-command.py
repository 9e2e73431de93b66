# truth: hung
# verdict: HUNG WAITING
# cause: node|server|wait|trap|TERM
# culprit: node|server\.js
# needs: node
# about: a harness asks a shell to end with SIGTERM and waits; the shell's trap runs only when its foreground command has ended, which is a server (bash(1), SIGNALS)
import os
from lib import tree
tree.write('server.js', 'require("net").createServer(() => {}).listen(0, "127.0.0.1", () => require("fs").writeFileSync("up", ""))')
tree.show('''
import os, subprocess, time
p = subprocess.Popen(["bash", "-c", "trap 'exit 0' TERM; node server.js; echo over"], stdin=subprocess.DEVNULL)
while not os.path.exists("up"): time.sleep(.05)
p.terminate(); open("asked", "w").close()
p.wait()
''', lambda pid: os.path.exists(f'{tree.D}/asked') and tree.in_call(pid, 'wait') and tree.in_call(tree.below(pid, 'node'), 'epoll'))
