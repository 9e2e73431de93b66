# truth: hung
# cause: each other|circle|answer|mutual|wait
# about: a client waits for an answer; its server, in the middle of it, asks the client for its configuration and waits for that
from lib import tree
tree.show('''
import subprocess, sys
code = "import sys; sys.stdin.readline(); print('{\\"jsonrpc\\":\\"2.0\\",\\"id\\":9,\\"method\\":\\"workspace/configuration\\"}', flush=True); sys.stdin.readline()"
p = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1)
p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\\n'); p.stdin.flush(); p.stdout.readline(); p.stdout.readline()
''', tree.child_in_call, 'read')
