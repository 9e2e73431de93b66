# truth: healthy
# then: ends
# needs: curl
# about: a program's terminal is full; its driver first asks a slow server outside of its tree, and then reads all (pty(7), curl(1))
import os, subprocess, sys
from lib import tree
os.chdir(tree.D)
subprocess.Popen(['python3', f'{tree.LIB}/server.py', 'late', f'{tree.D}/port'], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
tree.until(os.path.exists, 'port')
pid, fd = tree.terminal(['seq', '1', '100000'])
tree.announce(pid, tree.in_call, pid, 'write')
subprocess.run(['curl', '-s', '-o', 'got', f'http://127.0.0.1:{open("port").read()}/'], stdin=subprocess.DEVNULL)
sys.exit(tree.keep(pid, fd))
