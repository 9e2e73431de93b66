# truth: healthy
# then: ends
# needs: gcc
# about: a POSIX timer calls a function in a thread of the library, which posts the semaphore that the first thread waits for (timer_create(2), SIGEV_THREAD)
from lib import tree, native
native.show('''static sem_t s; static void f(union sigval v) { sem_post(&s); } int main(void) { timer_t id; struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = f};
struct itimerspec t = after(); sem_init(&s, 0, 0); timer_create(CLOCK_MONOTONIC, &e, &id); timer_settime(id, 0, &t, 0); while (sem_wait(&s)) ; return 0; }''', 'futex')
