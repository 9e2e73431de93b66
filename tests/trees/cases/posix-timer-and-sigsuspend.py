# truth: healthy
# then: ends
# needs: gcc
# about: a POSIX timer sends a real-time signal, which sigsuspend waits for (timer_create(2))
from lib import tree, native
native.show('''static void h(int s) {} int main(void) { timer_t id; sigset_t none, all; struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 40};
struct itimerspec t = after(); sigemptyset(&none); sigfillset(&all); signal(40, h); sigprocmask(SIG_BLOCK, &all, 0); timer_create(CLOCK_MONOTONIC, &e, &id); timer_settime(id, 0, &t, 0); sigsuspend(&none); return 0; }''', 'sigsuspend')
