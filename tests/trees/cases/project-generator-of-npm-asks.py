# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: npm
# needs: node npm
# about: npm-init(1) asks for name and version unless -y is given. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['npm', 'init'], 'npm')
