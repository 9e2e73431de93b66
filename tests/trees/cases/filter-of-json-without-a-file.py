# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: jq
# needs: node jq
# about: jq(1) without a file reads stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['jq', '.name'], 'jq')
