# truth: healthy
# then: ends
# needs: gcc
# if: test "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" = 0
# about: an event loop waits without a limit in epoll for its ring, which becomes readable when the timeout in it has run out (io_uring(7): the ring's descriptor can be polled)
from lib import tree, native
native.show('''#include <linux/io_uring.h>
int main(void) { struct io_uring_params p = {0}; int ring = syscall(SYS_io_uring_setup, 4, &p); if (ring < 0) return 9;
char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
struct io_uring_sqe *e = mmap(0, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
struct timespec t = {(long)secs(), 0}; memset(e, 0, sizeof *e); e->opcode = IORING_OP_TIMEOUT; e->fd = -1; e->addr = (unsigned long)&t; e->len = 1;
((unsigned *)(sq + p.sq_off.array))[0] = 0; ++*(unsigned *)(sq + p.sq_off.tail); if (syscall(SYS_io_uring_enter, ring, 1, 0, 0, 0, 0) != 1) return 7;
int x = epoll_create1(0); struct epoll_event v = {EPOLLIN}; epoll_ctl(x, EPOLL_CTL_ADD, ring, &v); int n; while ((n = epoll_wait(x, &v, 1, -1)) < 0 && errno == EINTR); return n == 1 ? 0 : 8; }''', 'epoll')
