# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: tar
# needs: node tar
# about: tar(1): -f - reads the archive from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['tar', '-xf', '-'], 'tar')
