# truth: healthy
# then: ends
# needs: gcc
# about: a program waits at a private futex; a process that shares its memory and is no thread and no child of it wakes it after a time (clone(2), CLONE_VM without CLONE_THREAD; futex(2))
from lib import tree, native
native.show('''#include <sched.h>
static int word;
static int wakes(void *x) { setsid(); nap(); word = 1; syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0); _exit(0); }
static int middle(void *x) { clone(wakes, (char *)malloc(65536) + 65536, CLONE_VM | SIGCHLD, 0); _exit(0); }
int main(void) { int p = clone(middle, (char *)malloc(65536) + 65536, CLONE_VM | SIGCHLD, 0); waitpid(p, 0, 0);
while (!word) syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0, 0, 0); return 0; }''', 'futex')
