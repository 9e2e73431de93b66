# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: mv
# needs: node make
# about: mv(1): -i asks on stdin; make(1) gives its stdin to its only recipe. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
open('a','w').close(); open('b','w').close(); tree.write('Makefile','all:\n\tmv -i a b\n')
more.tool_on_a_held_stdin(['make', '-s', 'all'], 'mv')
