# truth: healthy
# then: ends
# needs: unshare root mount
# about: proc(5): a change of the mounts wakes a poll of /proc/self/mounts with POLLPRI; a process outside of the tree mounts a folder later, in the same mount namespace.
. "${0%/*}/lib/tree.sh"
cat >w.py <<'W'
import os, select, sys
sys.path.insert(0, os.path.dirname(os.environ['LIB']))
from lib import more
os.mkdir('m')
more.foreign("import time,sys,subprocess; time.sleep(float(sys.argv[1])); subprocess.run(['mount','-t','tmpfs','none',sys.argv[2]])", os.environ['SECS'], os.environ['D'] + '/m')
f = open('/proc/self/mounts'); p = select.poll(); p.register(f, select.POLLPRI)
p.poll(0); p.poll()
W
unshare -m --propagation private python3 w.py &
P=$!
await in_call $P poll
ready $P
wait $P
