# truth: healthy
# then: ends
# needs: gcc
# about: a parent is suspended until its vfork child calls exec, which it does after a time (vfork(2))
from lib import tree, native
native.show('int main(void) { int s; if (vfork() == 0) { nap(); execlp("true", "true", (char *)0); _exit(9); } wait(&s); return s; }', condition=lambda pid: tree.children(pid) and tree.state(pid) == 'D')
