# truth: healthy
# then: ends
# needs: gcc
# about: a wait for a condition variable has a limit (pthread_cond_timedwait(3))
from lib import tree, native
native.show('''int main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += secs();
pthread_mutex_lock(&m); while (pthread_cond_timedwait(&c, &m, &t) != ETIMEDOUT) ; return 0; }''', 'futex')
