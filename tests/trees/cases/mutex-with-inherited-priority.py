# truth: healthy
# then: ends
# needs: gcc
# about: the first thread waits for a mutex with priority inheritance, which another thread has while it sleeps (pthread_mutexattr_setprotocol(3p); FUTEX_LOCK_PI)
from lib import tree, native
native.show('''static pthread_mutex_t m; static int has;
static void *hold(void *a) { pthread_mutex_lock(&m); has = 1; nap(); pthread_mutex_unlock(&m); return 0; }
int main(void) { pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT); pthread_mutex_init(&m, &a);
pthread_t t; pthread_create(&t, 0, hold, 0); while (!*(volatile int *)&has) usleep(1000); pthread_mutex_lock(&m); return 0; }''', 'futex')
