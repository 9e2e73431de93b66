# truth: healthy
# then: ends
# needs: gcc
# about: a tracer interrupts its command, sleeps, and lets it go on to its end (ptrace(2), PTRACE_INTERRUPT); a shell waits for both
from lib import tree, native
native.show('''#include <sys/ptrace.h>
int main(void) { int r = fork(); if (r) { int c; waitpid(r, &c, 0); return WEXITSTATUS(c); }
int go[2], s; pipe(go); int p = fork(); if (!p) { char c; read(go[0], &c, 1); _exit(0); }
ptrace(PTRACE_SEIZE, p, 0, 0); ptrace(PTRACE_INTERRUPT, p, 0, 0); waitpid(p, &s, 0); write(go[1], "x", 1); nap(); ptrace(PTRACE_CONT, p, 0, 0); waitpid(p, &s, 0); _exit(WEXITSTATUS(s)); }''',
            condition=lambda pid: tree.child_in_call(pid, 'nanosleep') and tree.state(tree.children(tree.children(pid)[0])[0]) == 't')
