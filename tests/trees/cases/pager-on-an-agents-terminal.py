# truth: hung
# verdict: HUNG WAITING
# cause: less|terminal|key
# culprit: less
# needs: git less
# about: an agent runs `git log` on a terminal that it made for the command and reads; git starts a pager there, which waits for a key that the agent never types (git-config(1), core.pager; less(1))
import os
import subprocess
from lib import tree
os.environ.update(HOME=tree.D, GIT_CONFIG_NOSYSTEM='1', TERM='xterm', LESS='')
for name in ('PAGER', 'GIT_PAGER'):
    os.environ.pop(name, None)
run = lambda *words: subprocess.run(['git', '-c', 'user.name=t', '-c', 'user.email=t@example.com', *words], cwd=tree.D, check=True, stdout=subprocess.DEVNULL)
run('init', '-q', 'repo')
for n in range(30):
    run('-C', 'repo', 'commit', '-q', '--allow-empty', '-m', f'step {n}')
tree.write('agent.py', '''
import os, pty
pid, fd = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "-c", "cd repo && git log; exit"])
while True:
    try:
        if not os.read(fd, 4096): break
    except OSError: break
os.waitpid(pid, 0)
''')
p = tree.start('gemini', ['python3', 'agent.py', '-p', 'go'], cwd=tree.D, stdin=subprocess.DEVNULL)
tree.until(lambda: tree.in_call(tree.below(p.pid, 'less') or tree.below(p.pid, 'pager'), 'read') and tree.in_call(p.pid, 'read'))
tree.ready(p.pid)
raise SystemExit(p.wait())
