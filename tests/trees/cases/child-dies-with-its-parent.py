# truth: healthy
# then: ends
# needs: gcc
# about: a child reads a pipe whose writer it is itself and dies with its parent, which has a timer (prctl(2), PR_SET_PDEATHSIG)
from lib import tree, native
native.show('int main(void) { int p[2]; char b; if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); pipe(p); read(p[0], &b, 1); _exit(0); } nap(); return 0; }', condition=lambda pid: tree.child_in_call(pid, 'read') and tree.in_call(pid, 'nanosleep'))
