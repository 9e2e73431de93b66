# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: semaphore|System V|cannot be seen
# certain: no
# needs: gcc
# about: a process that had a System V semaphore was killed and did not give it back (semop(2), SEM_UNDO not set)
from lib import tree, native
native.show('''int main(void) { int s = semget(IPC_PRIVATE, 1, 0600); struct sembuf take = {0, -1, 0}; semctl(s, 0, SETVAL, 1); FILE *f = fopen("cleanup", "w"); fprintf(f, "ipcrm -s %d 2>/dev/null", s); fclose(f);
if (fork() == 0) { semop(s, &take, 1); kill(getpid(), SIGKILL); } wait(0); semop(s, &take, 1); return 0; }''', 'semop')
