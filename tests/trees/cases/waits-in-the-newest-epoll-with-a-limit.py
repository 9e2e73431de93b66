# truth: healthy
# then: ends
# needs: gcc
# about: an event loop waits for a pipe of its own with a limit in a timespec (epoll_pwait2(2))
from lib import tree, native
native.show('''int main(void) { int pp[2], e = epoll_create1(0); pipe(pp); struct epoll_event v = {EPOLLIN}; epoll_ctl(e, EPOLL_CTL_ADD, pp[0], &v);
struct timespec t = {(long)secs(), 0}; return syscall(441, e, &v, 1, &t, 0, 0) == 0 ? 0 : 8; }''',
            condition=lambda pid: open(f'/proc/{pid}/syscall').read().startswith('441 '))
