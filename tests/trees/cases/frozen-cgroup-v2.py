# truth: hung
# cause: frozen|freez|thaw
# needs: root /sys/fs/cgroup/unified/cgroup.procs
# later: 15 the one who froze it may thaw it
# about: the processes of a sandbox are in a frozen control group of the second version (cgroup-v2, cgroup.freeze)
from lib import tree
tree.frozen('/sys/fs/cgroup/unified', None)
