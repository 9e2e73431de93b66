# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: timer
# needs: gcc
# about: a program reads a timer's descriptor that was never armed (timerfd_create(2))
from lib import tree, native
native.show('int main(void) { long n; int fd = timerfd_create(CLOCK_MONOTONIC, 0); read(fd, &n, 8); return 0; }', 'read')
