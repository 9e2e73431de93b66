# truth: waiting
# verdict: WAITING UNKNOWN
# then: run tmux -S "$D/tmux" kill-server
# needs: tmux
# about: a program drives tmux in control mode through a pipe and waits for its next lines (tmux(1), CONTROL MODE)
import os
from lib import tree
tree.write('cleanup', f'tmux -S {tree.D}/tmux kill-server')
tree.show('''
import subprocess
p = subprocess.Popen(["tmux", "-S", "tmux", "-f", "/dev/null", "-C", "new-session", "-s", "s", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
while line := p.stdout.readline():
    if line.startswith(b"%session-changed"): open("attached", "w").close()
p.wait()
''', lambda pid: os.path.exists(f'{tree.D}/attached') and tree.in_call(pid, 'read'))
