# truth: healthy
# then: ends
# needs: gcc
# about: an epoll waits for another epoll, in which a timer's descriptor is (epoll(7), nesting)
from lib import tree, native
native.show('''int main(void) { struct itimerspec t = after(); int fd = timerfd_create(CLOCK_MONOTONIC, 0), a = epoll_create1(0), b = epoll_create1(0); struct epoll_event e = {EPOLLIN};
timerfd_settime(fd, 0, &t, 0); epoll_ctl(a, EPOLL_CTL_ADD, fd, &e); epoll_ctl(b, EPOLL_CTL_ADD, a, &e); epoll_wait(b, &e, 1, -1); return 0; }''', 'epoll')
