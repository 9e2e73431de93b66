# truth: healthy
# then: ends
# about: an interactive shell ends by itself after a time without a line; its harness reads its terminal (bash(1), TMOUT)
import os
from lib import tree
os.chdir(tree.D)
open('rc', 'w').write(f'TMOUT={int(tree.SECS)}; PS1="\\$ "\n')
tree.run_terminal(['bash', '--noprofile', '--rcfile', 'rc', '-i'], calls=['select', 'read', 'poll'])
