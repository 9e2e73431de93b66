# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a word in a file of /dev/shm that only it has mapped; a process outside of its tree maps it after a time and wakes the command (shm_open(3), futex(2))
import os, subprocess
from lib import tree, more
os.chdir(tree.D)
name = f'/dev/shm/tree-{os.getpid()}'
tree.write('cleanup', f'rm -f {name}')
tree.write('one.c', '''#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/futex.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **w) { if (n > 2) usleep((useconds_t)(atof(getenv("SECS")) * 1e6));
int f = open(w[1], O_RDWR | O_CREAT, 0600); ftruncate(f, 4096); int *p = mmap(0, 4096, 3, MAP_SHARED, f, 0); close(f);
if (n > 2) { *p = 1; syscall(SYS_futex, p, FUTEX_WAKE, 9, 0, 0, 0); return 0; }
while (!*(volatile int *)p) syscall(SYS_futex, p, FUTEX_WAIT, 0, 0, 0, 0); return 0; }''')
subprocess.run(['gcc', '-w', '-o', 'one', 'one.c'], check=True)
more.foreign('import os; os.chdir("%s"); os.execv("./one", ["one", "%s", "x"])' % (tree.D, name))
tree.show(['./one', name], tree.in_call, 'futex')
