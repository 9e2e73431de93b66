# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: gzip
# needs: node gzip
# about: gzip(1) without files compresses stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['sh', '-c', 'gzip >x.gz; echo done'], 'gzip')
