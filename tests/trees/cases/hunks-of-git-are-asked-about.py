# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: git
# needs: node git
# about: git-add(1): -p asks about each hunk on stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess
from lib import more, tree
os.chdir(tree.D)
subprocess.run('git init -q && echo a >f && git add f && git -c user.name=a -c user.email=a@b commit -qm a && echo b >f',shell=True)
more.tool_on_a_held_stdin(['git', 'add', '-p'], 'git')
