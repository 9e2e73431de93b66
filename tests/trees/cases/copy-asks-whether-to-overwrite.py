# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: cp
# needs: node cp
# about: cp(1): -i prompts before overwriting, and reads the answer from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
open('a','w').close(); open('b','w').close()
more.tool_on_a_held_stdin(['cp', '-i', 'a', 'b'], 'cp')
