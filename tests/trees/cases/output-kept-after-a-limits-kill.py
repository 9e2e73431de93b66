# truth: hung
# verdict: HUNG WAITING
# cause: pipe|output|open|end
# culprit: python3|http
# moves: the server looks for its end twice a second
# about: a harness kills a tool's shell at its limit and then reads the output to its end; a server that the shell had started keeps the pipe (subprocess, Popen.communicate: the idiom after TimeoutExpired; only the child is killed)
from lib import tree
tree.show('''
import subprocess
p = subprocess.Popen("python3 -m http.server --bind 127.0.0.1 0 & wait", shell=True, stdout=-1, stderr=-1, stdin=subprocess.DEVNULL)
try:
    p.communicate(timeout=3)
except subprocess.TimeoutExpired:
    p.kill(); open("killed", "w").close()
    p.communicate()
''', lambda pid: __import__('os').path.exists(f'{tree.D}/killed') and tree.in_call(pid, 'poll', 'select') and tree.state(tree.children(pid)[0]) == 'Z')
