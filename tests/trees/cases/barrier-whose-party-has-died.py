# truth: hung
# cause: futex|shared memory
# needs: gcc
# about: two of three processes wait at a barrier in shared memory; the third was killed before it came (pthread_barrier_wait(3p): until the count is reached)
from lib import tree, native
native.show('''int main(void) { pthread_barrier_t *b = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); pthread_barrierattr_t a; pthread_barrierattr_init(&a);
pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED); pthread_barrier_init(b, &a, 3);
if (fork() == 0) raise(SIGKILL); wait(0); if (fork() == 0) { pthread_barrier_wait(b); _exit(0); } pthread_barrier_wait(b); wait(0); return 0; }''',
            condition=lambda pid: tree.in_call(pid, 'futex') and tree.child_in_call(pid, 'futex'))
