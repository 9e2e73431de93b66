# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: sha256sum
# needs: node sha256sum
# about: sha256sum(1) without a file reads stdin; the variable is empty. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['bash', '-c', 'f=; sha256sum $f'], 'sha256sum')
