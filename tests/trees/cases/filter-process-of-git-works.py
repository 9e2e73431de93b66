# truth: healthy
# then: ends
# needs: git
# about: git waits for its long-running filter, which sleeps over a file, as one that fetches it does (gitattributes(5), filter.<driver>.process)
import os, subprocess
from lib import tree, more
D = tree.D
os.environ.update(HOME=D, GIT_CONFIG_NOSYSTEM='1')
tree.write('filter.py', r'''
import os, sys, time
i, o = sys.stdin.buffer, sys.stdout.buffer
def pkt():
    n = int(i.read(4), 16); return None if n == 0 else i.read(n - 4)
def some():
    got = []
    while (p := pkt()) is not None: got.append(p)
    return got
def say(*lines):
    for l in lines: o.write(b"%04x" % (len(l) + 4) + l)
    o.write(b"0000"); o.flush()
some(); say(b"git-filter-server\n", b"version=2\n"); some(); say(b"capability=smudge\n", b"capability=clean\n")
while True:
    try: some(); body = some()
    except ValueError: break
    open(os.environ["D"] + "/works", "w").close(); time.sleep(float(os.environ["SECS"]))
    say(b"status=success\n"); say(*body); say()
''')
os.chdir(D)
for line in ('init -q repo', '-C repo config filter.x.process', '-C repo config user.name t'):
    subprocess.run(['git', *line.split(), *(['python3 %s/filter.py' % D] if line.endswith('process') else [])], check=True)
open('repo/.gitattributes', 'w').write('*.big filter=x\n'); open('repo/a.big', 'w').write('a\n')
tree.show(['git', '-C', 'repo', 'add', 'a.big'], lambda pid: more.there('works'))
