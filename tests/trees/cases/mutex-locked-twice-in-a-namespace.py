# truth: healthy
# then: ends
# needs: gcc unshare root
# about: pid_namespaces(7): a program of a container locks a mutex twice, and the container's first process, which sleeps, ends it with itself.
import subprocess, sys
from lib import tree
tree.write('m.c', '#include <pthread.h>\nint main(){pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER;pthread_mutex_lock(&m);pthread_mutex_lock(&m);}')
subprocess.run(['gcc', '-w', '-o', tree.D + '/m', tree.D + '/m.c', '-pthread'], check=True)
p = subprocess.Popen(['unshare', '-pf', '--mount-proc', 'sh', '-c', './m & sleep $SECS; true'], cwd=tree.D)
def inner():
    k = tree.below(p.pid, 'm')
    return k and open(f'/proc/{k}/comm').read() == 'm\n' and tree.in_call(k, 'futex') and k
tree.ready(tree.until(inner)); sys.exit(p.wait())
