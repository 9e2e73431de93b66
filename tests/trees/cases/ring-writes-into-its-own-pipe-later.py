# truth: healthy
# then: ends
# needs: gcc
# if: test "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" = 0
# about: a program reads a pipe of its own; its ring has a timeout and, linked to it, a write into that pipe (io_uring_enter(2), IOSQE_IO_LINK)
from lib import tree, native
native.show('''#include <linux/io_uring.h>
int main(void) { struct io_uring_params p = {0}; int pp[2]; pipe(pp); int ring = syscall(SYS_io_uring_setup, 4, &p); if (ring < 0) return 9;
char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
struct io_uring_sqe *e = mmap(0, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
struct timespec t = {(long)secs(), 0}; memset(e, 0, 2 * sizeof *e);
e[0].opcode = IORING_OP_TIMEOUT; e[0].fd = -1; e[0].addr = (unsigned long)&t; e[0].len = 1; e[0].flags = IOSQE_IO_HARDLINK;
e[1].opcode = IORING_OP_WRITE; e[1].fd = pp[1]; e[1].addr = (unsigned long)"x"; e[1].len = 1;
unsigned *a = (unsigned *)(sq + p.sq_off.array); a[0] = 0; a[1] = 1; *(unsigned *)(sq + p.sq_off.tail) += 2;
if (syscall(SYS_io_uring_enter, ring, 2, 0, 0, 0, 0) != 2) return 7;
char c = 0; read(pp[0], &c, 1); return c == 'x' ? 0 : 8; }''', 'read')
