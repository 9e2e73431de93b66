# truth: hung
# cause: trac
# later: 15 a tracer may go on
# needs: gcc
# about: a sandbox traces its command and all below it, and waits only for the command; that one's own child stands in its first stop for the tracer (ptrace(2), PTRACE_O_TRACEFORK)
from lib import tree, native
native.show('''#include <sys/ptrace.h>
int main(void) { int go[2]; pipe(go); int p = fork(); if (!p) { char c; read(go[0], &c, 1); int q = fork(); if (!q) _exit(0); waitpid(q, 0, 0); _exit(0); }
ptrace(PTRACE_SEIZE, p, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE); write(go[1], "x", 1); int s;
while (waitpid(p, &s, __WALL) == p && WIFSTOPPED(s)) ptrace(PTRACE_CONT, p, 0, s >> 16 ? 0 : WSTOPSIG(s)); return 0; }''',
            condition=lambda pid: tree.in_call(pid, 'wait') and tree.child_in_call(pid, 'wait') and tree.state(tree.children(tree.children(pid)[0])[0]) == 't')
