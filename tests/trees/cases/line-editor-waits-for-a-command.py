# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: ed
# needs: node ed
# about: ed(1) reads commands from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
open('f','w').write('x\n')
more.tool_on_a_held_stdin(['ed', '-s', 'f'], 'ed')
