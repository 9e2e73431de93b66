# truth: hung
# cause: pipe|vfork|exec
# needs: gcc
# about: a parent is suspended by vfork; its child reads a pipe whose only writers are the two (vfork(2), pipe(7))
from lib import tree, native
native.show('int main(void) { int p[2]; char b; pipe(p); if (vfork() == 0) { read(p[0], &b, 1); _exit(0); } wait(0); return 0; }', condition=lambda pid: tree.state(pid) == 'D' and tree.child_in_call(pid, 'read'))
