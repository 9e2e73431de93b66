# truth: hung
# verdict: HUNG WORKING WAITING
# cause: zombie|has exited|has ended|reap|wait
# about: the tool's shell has ended and its parent, in its event loop, never takes its exit code (wait(2), NOTES: zombies)
import os
import sys
from lib import tree
code = '''
import os, select, subprocess
p = subprocess.Popen(["bash", "--norc", "-c", "echo done"], stdout=subprocess.PIPE)
p.stdout.read()
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
loop = select.epoll()
loop.register(os.pipe()[0], select.EPOLLIN)
print(flush=True)
while True: loop.poll(30)
'''
import subprocess
p = tree.start('copilot', ['python3', '-c', code], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
p.stdout.readline()
tree.until(tree.in_call, p.pid, 'epoll')
tree.ready(p.pid)
sys.exit(p.wait())
