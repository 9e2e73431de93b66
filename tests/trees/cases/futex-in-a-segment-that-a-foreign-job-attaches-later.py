# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a word in a segment of shared memory to which only it is attached; a process outside of its tree that knows the segment's key attaches after a time and wakes it (shmget(2), shmat(2), futex(2))
import os, subprocess
from lib import tree, more
os.chdir(tree.D)
tree.write('one.c', '''#define _GNU_SOURCE
#include <sys/shm.h>
#include <sys/syscall.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **w) { key_t k = ftok(".", 7); if (n > 1) usleep((useconds_t)(atof(getenv("SECS")) * 1e6));
int id = shmget(k, 4096, IPC_CREAT | 0600); int *p = shmat(id, 0, 0);
if (n > 1) { *p = 1; syscall(SYS_futex, p, FUTEX_WAKE, 9, 0, 0, 0); shmctl(id, IPC_RMID, 0); return 0; }
while (!*(volatile int *)p) syscall(SYS_futex, p, FUTEX_WAIT, 0, 0, 0, 0); return 0; }''')
tree.write('cleanup', "ipcrm -M $(python3 -c 'import os; s=os.stat(\"%s\"); print(hex((s.st_ino & 0xffff) | ((s.st_dev & 0xff) << 16) | (7 << 24)))') 2>/dev/null; true" % tree.D)
subprocess.run(['gcc', '-w', '-o', 'one', 'one.c'], check=True)
more.foreign('import os; os.chdir("%s"); os.execv("./one", ["one", "x"])' % tree.D)
tree.show(['./one'], tree.in_call, 'futex')
