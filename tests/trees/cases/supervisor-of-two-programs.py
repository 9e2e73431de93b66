# truth: healthy
# then: ends
# about: a supervisor polls its programs' pipes for one second at a time, reaps them, and ends with the last (supervisord, main loop)
from lib import tree
tree.show('''
import os, select, subprocess
programs = [subprocess.Popen(["sh", "-c", "sleep $SECS; echo over"], stdout=-1) for _ in range(2)]
while programs:
    select.select([p.stdout for p in programs], [], [], 1)
    programs = [p for p in programs if p.poll() is None]
''', lambda pid: tree.below(pid, 'sleep'))
