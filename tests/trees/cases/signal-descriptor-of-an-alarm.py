# truth: healthy
# then: ends
# needs: gcc
# about: a blocked alarm is read from a signal's descriptor (signalfd(2))
from lib import tree, native
native.show('int main(void) { char b[999]; sigset_t s; sigemptyset(&s); sigaddset(&s, SIGALRM); sigprocmask(SIG_BLOCK, &s, 0); int fd = signalfd(-1, &s, 0); alarm((int)secs()); read(fd, b, 999); return 0; }', 'read')
