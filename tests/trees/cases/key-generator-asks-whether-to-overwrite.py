# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: ssh-keygen
# needs: node ssh-keygen
# about: ssh-keygen(1) asks whether to overwrite a key that exists. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os, subprocess
from lib import more, tree
os.chdir(tree.D)
subprocess.run(['ssh-keygen','-q','-t','ed25519','-N','','-f','k'])
more.tool_on_a_held_stdin(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', 'k'], 'ssh-keygen')
