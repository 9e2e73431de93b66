# truth: hung
# cause: stdin|standard input|input|question|answer
# culprit: openssl
# needs: node openssl
# about: openssl-passphrase-options(1): stdin reads the password from standard input. The agent keeps the write end of its standard input, never writes, and waits for its end.
import os
from lib import more, tree
os.chdir(tree.D)
more.tool_on_a_held_stdin(['openssl', 'genrsa', '-aes128', '-out', 'k', '-passout', 'stdin'], 'openssl')
