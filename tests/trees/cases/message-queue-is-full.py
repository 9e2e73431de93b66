# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: message|queue|System V|cannot be seen
# certain: no
# needs: gcc
# about: a process sends into a full System V queue that nobody reads (msgop(2))
from lib import tree, native
native.show('''int main(void) { int q = msgget(IPC_PRIVATE, 0600); struct { long t; char b[4096]; } m = {1}; FILE *f = fopen("cleanup", "w"); fprintf(f, "ipcrm -q %d 2>/dev/null", q); fclose(f);
for (;;) msgsnd(q, &m, 4096, 0); }''', condition=lambda pid: all(tree.in_call(pid, 'msgsnd') for _ in range(20)))
