# truth: healthy
# then: ends
# needs: gcc
# about: a process reads a pipe; a child that shares its table of descriptors (and not its memory) writes after a time (clone(2), CLONE_FILES)
from lib import tree, native
native.show('''#include <sched.h>
static int pp[2];
static int child(void *x) { nap(); write(pp[1], "x", 1); return 0; }
int main(void) { char c, *s = malloc(65536); pipe(pp); clone(child, s + 65536, CLONE_FILES | SIGCHLD, 0);
read(pp[0], &c, 1); wait(0); return c == 'x' ? 0 : 8; }''', 'read')
