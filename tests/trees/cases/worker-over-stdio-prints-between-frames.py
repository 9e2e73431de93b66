# truth: hung
# cause: each other|pipe|stdin|standard input|waits for
# about: a gateway in the manner of execnet speaks frames of a length and a body over stdio; a print of the worker is taken for a length, so the parent waits for the rest of a frame of 1.7 GB while the worker waits for its next request. No time limit on either side.
import os, subprocess, sys
from lib import tree
W = r"import sys,struct; i,o=sys.stdin.buffer,sys.stdout.buffer; n=struct.unpack('>I',i.read(4))[0]; i.read(n); o.write(b'done\n'+struct.pack('>I',2)+b'ok'); o.flush(); i.read(4)"
G = f"import subprocess,sys,struct; p=subprocess.Popen([sys.executable,'-c',{W!r}],stdin=-1,stdout=-1); p.stdin.write(struct.pack('>I',1)+b'x'); p.stdin.flush(); n=struct.unpack('>I',p.stdout.read(4))[0]; p.stdout.read(n)"
p = subprocess.Popen([sys.executable, '-c', G])
tree.until(tree.child_in_call, p.pid, 'read'); tree.until(tree.in_call, p.pid, 'read')
tree.ready(p.pid); p.wait()
