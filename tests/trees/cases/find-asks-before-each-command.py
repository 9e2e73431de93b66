# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: find
# needs: node find
# about: find(1): -ok asks first, and reads the answer from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
open('a','w').close()
more.tool_on_a_held_stdin(['find', 'a', '-ok', 'rm', '{}', ';'], 'find')
