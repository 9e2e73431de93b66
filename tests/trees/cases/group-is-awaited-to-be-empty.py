# truth: healthy
# then: ends
# needs: root /sys/fs/cgroup/unified/cgroup.procs
# about: a manager watches a control group's event file until no process is in it; a process outside of its tree is, for a time (cgroup-v2, cgroup.events: populated; inotify)
import os
from lib import tree, more
group = f'/sys/fs/cgroup/unified/tree-{os.getpid()}'
os.mkdir(group)
tree.write('cleanup', f'[ -d {group} ] || exit 0; for i in $(seq 100); do rmdir {group} && exit; sleep .05; done')
more.foreign('import os, time; open("%s/cgroup.procs", "w").write(str(os.getpid())); open("%s/in", "w").close(); time.sleep(float(os.environ["SECS"]))' % (group, tree.D))
tree.until(more.there, 'in')
tree.show('''
import select, sys
f = open("%s/cgroup.events"); p = select.poll(); p.register(f, select.POLLPRI)
while "populated 1" in f.read(): p.poll(); f.seek(0)
''' % group, tree.in_call, 'poll')
