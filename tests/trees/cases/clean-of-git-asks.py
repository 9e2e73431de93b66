# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: git
# needs: node git
# about: git-clean(1): -i shows what would be done, and reads a command from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess
from lib import more, tree
os.chdir(tree.D)
subprocess.run(['git','init','-q']); open('a','w').close()
more.tool_on_a_held_stdin(['git', 'clean', '-i'], 'git')
