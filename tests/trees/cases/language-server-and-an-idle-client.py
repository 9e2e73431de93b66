# truth: waiting
# verdict: WAITING UNKNOWN
# then: types q
# about: a client at a terminal and its server in Python are both idle: nothing was asked
import os
import sys
from lib import tree
tree.write('client.py', '''
import os, select, subprocess, sys
p = subprocess.Popen([sys.executable, "-c", "import sys\\nfor line in sys.stdin: print(line)"], stdin=-1, stdout=-1)
select.select([0, p.stdout], [], []); p.stdin.close(); p.wait()
''')
code = f'cd "$D"; stty raw; exec python3 client.py'
tree.run_terminal(['bash', '-c', code], calls=['select'])
