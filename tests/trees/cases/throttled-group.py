# truth: healthy
# then: moves
# needs: root /sys/fs/cgroup/cpu/cgroup.procs
# about: a group may use one hundredth of a processor: its process is slow and works (cgroup-v1, cpu.cfs_quota_us)
import os
from lib import tree
import subprocess
import sys
group = f'/sys/fs/cgroup/cpu/tree-{os.getpid()}'
os.mkdir(group)
tree.write('cleanup', f'[ -d {group} ] || exit 0; for i in $(seq 100); do rmdir {group} && exit; sleep .05; done')
open(f'{group}/cpu.cfs_period_us', 'w').write('100000')
open(f'{group}/cpu.cfs_quota_us', 'w').write('1000')
p = subprocess.Popen(['python3', '-c', 'n = 0\nwhile True: n += 1'])
open(f'{group}/cgroup.procs', 'w').write(str(p.pid))
tree.until(lambda: int(open(f'{group}/cpu.stat').read().split('nr_throttled ')[1].split()[0]) > 2)
tree.ready(p.pid)
sys.exit(p.wait())
