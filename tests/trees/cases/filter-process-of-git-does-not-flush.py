# truth: hung
# cause: each other|pipe|answer|owes
# needs: git
# about: git waits for the status of its long-running filter, which is in the filter's buffer for want of a flush while the filter reads the next request (gitattributes(5), long running filter process: packet-line, flush)
import os, subprocess
from lib import tree, more
D = tree.D
os.environ.update(HOME=D, GIT_CONFIG_NOSYSTEM='1')
tree.write('filter.py', r'''
import os, sys, time
i, o = sys.stdin.buffer, open(1, "wb", 8192, closefd=False)
def pkt():
    n = int(i.read(4), 16); return None if n == 0 else i.read(n - 4)
def some():
    got = []
    while (p := pkt()) is not None: got.append(p)
    return got
def say(*lines):
    for l in lines: o.write(b"%04x" % (len(l) + 4) + l)
    o.write(b"0000")
some(); say(b"git-filter-server\n", b"version=2\n"); o.flush(); some(); say(b"capability=smudge\n", b"capability=clean\n"); o.flush()
while True:
    try: some(); body = some()
    except ValueError: break
    say(b"status=success\n"); say(*body); say()
    open(os.environ["D"] + "/works", "w").close()
''')
os.chdir(D)
for line in ('init -q repo', '-C repo config filter.x.process', '-C repo config user.name t'):
    subprocess.run(['git', *line.split(), *(['python3 %s/filter.py' % D] if line.endswith('process') else [])], check=True)
open('repo/.gitattributes', 'w').write('*.big filter=x\n'); open('repo/a.big', 'w').write('a\n')
tree.show(['git', '-C', 'repo', 'add', 'a.big'], lambda pid: more.there('works') and tree.in_call(pid, 'read') and tree.below(pid, 'python3') and tree.in_call(tree.below(pid, 'python3'), 'read'))
