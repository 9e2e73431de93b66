# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: memory|group|cgroup
# later: 120 somebody may raise the group's limit
# needs: root /sys/fs/cgroup/memory/memory.oom_control
# about: a process of a control group needs more memory than the group may have, and the group's OOM killer is off: the process sleeps until the limit is raised (cgroup-v1/memory, 10. OOM Control)
import os, subprocess
from lib import tree, more
g = f'/sys/fs/cgroup/memory/tree-{os.getpid()}'
os.mkdir(g)
open(f'{g}/memory.limit_in_bytes', 'w').write('16M'); open(f'{g}/memory.oom_control', 'w').write('1')
tree.write('cleanup', f'[ -d {g} ] || exit 0; echo 0 >{g}/memory.oom_control; for i in $(seq 100); do rmdir {g} && exit; sleep .05; done')
code = f'import os; open("{g}/cgroup.procs", "w").write(str(os.getpid())); x = b"x" * (64 << 20); print(len(x))'
tree.show(['sh', '-c', 'python3 -c "$0"; exit', code], lambda pid: 'under_oom 1' in open(f'{g}/memory.oom_control').read())
