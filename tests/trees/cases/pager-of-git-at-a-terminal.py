# truth: waiting
# verdict: WAITING UNKNOWN
# then: types q
# needs: git less
# about: a person reads git's log in a pager at a terminal (git-config(1), core.pager; less(1))
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
tree.run_terminal(['git', '-C', 'repo', 'log'], name='less', calls=['read'])
