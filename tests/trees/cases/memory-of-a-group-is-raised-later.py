# truth: healthy
# then: ends
# needs: root /sys/fs/cgroup/memory/memory.oom_control
# about: a process of a control group needs more memory than the group may have, and the group's OOM killer is off; a manager outside of its tree raises the limit after a time (cgroup-v1/memory, 10. OOM Control)
import os
from lib import tree, more
g = f'/sys/fs/cgroup/memory/tree-{os.getpid()}'
os.mkdir(g)
open(f'{g}/memory.limit_in_bytes', 'w').write('16M'); open(f'{g}/memory.oom_control', 'w').write('1')
tree.write('cleanup', f'[ -d {g} ] || exit 0; echo 0 >{g}/memory.oom_control; for i in $(seq 100); do rmdir {g} && exit; sleep .05; done')
more.foreign('import os, time; time.sleep(float(os.environ["SECS"])); open("%s/memory.limit_in_bytes", "w").write("256M")' % g)
code = f'import os; open("{g}/cgroup.procs", "w").write(str(os.getpid())); x = b"x" * (64 << 20)'
tree.show(['sh', '-c', 'python3 -c "$0"; exit', code], lambda pid: 'under_oom 1' in open(f'{g}/memory.oom_control').read())
