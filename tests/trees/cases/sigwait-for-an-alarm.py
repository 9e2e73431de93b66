# truth: healthy
# then: ends
# needs: gcc
# about: a blocked alarm is taken by sigwait, with no handler (sigwait(3), alarm(2))
from lib import tree, native
native.show('int main(void) { int n; sigset_t s; sigemptyset(&s); sigaddset(&s, SIGALRM); sigprocmask(SIG_BLOCK, &s, 0); alarm((int)secs()); sigwait(&s, &n); return 0; }', 'sigwait')
