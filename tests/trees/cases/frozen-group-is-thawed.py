# truth: healthy
# then: ends
# needs: root /sys/fs/cgroup/unified/cgroup.procs
# about: a sandbox is paused and goes on after a time (cgroup-v2, cgroup.freeze)
from lib import tree
tree.frozen('/sys/fs/cgroup/unified', tree.SECS)
