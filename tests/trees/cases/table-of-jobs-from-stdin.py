# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: crontab
# needs: node crontab
# about: crontab(1): - reads the table from stdin. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['crontab', '-'], 'crontab')
