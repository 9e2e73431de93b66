# truth: hung
# cause: each other|full|stderr|standard error|pipe
# about: a host writes a long prompt before it reads; its agent first writes a megabyte of errors: both pipes are full (pipe(7), pipe capacity)
import subprocess
import sys
from lib import tree
code = 'import sys; sys.stderr.write("x" * (1 << 20)); sys.stdin.read()'
host = '''
import subprocess, sys, os
p = subprocess.Popen(["codex", "-c", sys.argv[1], "exec", "-"], executable=sys.executable, env=dict(os.environ, PYTHONHOME=sys.prefix), stdin=-1, stdout=-1, stderr=-1)
print(p.pid, flush=True)
p.stdin.write(b"x" * (256 << 10)); p.stdin.flush(); p.communicate()
'''
p = subprocess.Popen(['python3', '-c', host, code], stdout=subprocess.PIPE)
agent = int(p.stdout.readline())
tree.until(tree.in_call, p.pid, 'write')
tree.until(tree.in_call, agent, 'write')
tree.ready(agent)
sys.exit(p.wait())
