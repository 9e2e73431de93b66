# truth: hung
# cause: frozen|freez|thaw
# needs: root /sys/fs/cgroup/freezer/cgroup.procs node
# later: 15 the one who froze it may thaw it
# about: a sandbox was paused: its processes are in a frozen control group (cgroup-v1/freezer-subsystem)
import os
import sys
from lib import tree
group = f'/sys/fs/cgroup/freezer/tree-{os.getpid()}'
os.mkdir(group)
tree.write('cleanup', f'[ -d {group} ] || exit 0; echo THAWED >{group}/freezer.state; for i in $(seq 100); do rmdir {group} && exit; sleep .05; done')
p = tree.agent('claude', '-p', 'go', do={'tick': 1000}, stdin=-3)
tree.until(tree.in_call, p.pid, 'epoll')
open(f'{group}/cgroup.procs', 'w').write(str(p.pid))
open(f'{group}/freezer.state', 'w').write('FROZEN')
tree.until(lambda: open(f'{group}/freezer.state').read() == 'FROZEN\n')
tree.ready(p.pid)
sys.exit(p.wait())
