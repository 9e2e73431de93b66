# truth: healthy
# then: ends
# needs: gcc
# about: semtimedop gives up after a time (semop(2))
from lib import tree, native
native.show('int main(void) { int s = semget(IPC_PRIVATE, 1, 0600); FILE *f = fopen("cleanup", "w"); fprintf(f, "ipcrm -s %d 2>/dev/null", s); fclose(f); struct sembuf c = {0, -1, 0}; struct timespec t = {secs(), 1}; semtimedop(s, &c, 1, &t); semctl(s, 0, IPC_RMID); return 0; }', 'semop')
