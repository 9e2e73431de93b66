# truth: healthy
# then: ends
# needs: gcc
# about: a program reads a timer's descriptor (timerfd_create(2))
from lib import tree, native
native.show('int main(void) { long n; struct itimerspec t = after(); int fd = timerfd_create(CLOCK_MONOTONIC, 0); timerfd_settime(fd, 0, &t, 0); read(fd, &n, 8); return 0; }', 'read')
