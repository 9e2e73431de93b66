# truth: healthy
# then: ends
# needs: gcc
# about: a program waits for a word in memory, which the kernel clears and wakes at the end of a process that shares the memory and sleeps (clone(2), CLONE_VM and CLONE_CHILD_CLEARTID; set_tid_address(2))
from lib import tree, native
native.show('''#include <sched.h>
static char stack[65536]; static int word = 1;
static int child(void *a) { nap(); _exit(0); }
int main(void) { clone(child, stack + sizeof stack, CLONE_VM | CLONE_CHILD_CLEARTID, 0, 0, 0, &word); while (*(volatile int *)&word) syscall(SYS_futex, &word, FUTEX_WAIT, 1, 0, 0, 0); return 0; }''', 'futex')
