# truth: healthy
# then: ends
# needs: root /sys/fs/cgroup/memory/cgroup.event_control
# about: cgroup-v1 memory.txt: an event descriptor that is registered in cgroup.event_control is written by the kernel when the group uses more memory than a threshold; a foreign process in the group does so later.
import os, subprocess, sys
from lib import tree, more
g = f'/sys/fs/cgroup/memory/tree-{os.getpid()}'
os.mkdir(g)
tree.write('cleanup', f'for i in $(seq 50); do rmdir {g} && exit; sleep .1; done')
p = subprocess.Popen([sys.executable, '-c', f'''
import os
e = os.eventfd(0); u = os.open("{g}/memory.usage_in_bytes", os.O_RDONLY)
open("{g}/cgroup.event_control", "w").write(f"{{e}} {{u}} 33554432"); open("{tree.D}/armed", "w").close(); os.read(e, 8)'''])
tree.until(os.path.exists, tree.D + '/armed'); tree.until(tree.in_call, p.pid, 'read')
more.foreign("import os,sys,time; open(sys.argv[1]+'/cgroup.procs','w').write(str(os.getpid())); time.sleep(float(sys.argv[2])); x=b'x'*(80<<20); time.sleep(.5)", g, tree.SECS)
tree.ready(p.pid); sys.exit(p.wait())
