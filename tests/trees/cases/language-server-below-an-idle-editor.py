# truth: waiting
# verdict: WAITING UNKNOWN
# then: types q
# needs: node
# about: a person edits in a full-screen editor; its language server has no request (Language Server Protocol, base protocol)
import os
import sys
from lib import tree
tree.write('server.js', 'process.stdin.on("data", () => {}); process.stdin.on("end", () => process.exit(0))')
tree.write('editor.py', '''
import os, select, subprocess, tty
p = subprocess.Popen(["marksman", os.environ["D"] + "/server.js", "server"], executable="node", stdin=-1, stdout=-1)
tty.setraw(0); select.select([0, p.stdout], [], []); p.stdin.close(); p.wait()
''')
os.environ['PYTHONHOME'] = sys.prefix
tree.run_terminal(['bash', '-c', 'exec -a nvim python3 "$D/editor.py"'], calls=['select'])
