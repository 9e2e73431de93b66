# truth: healthy
# then: ends
# needs: gcc
# if: test "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" = 0
# about: the first thread joins a thread that waits at a private futex; the first thread's ring has a timeout and, linked to it, a wake of that futex (IORING_OP_FUTEX_WAKE, Linux 6.7)
from lib import tree, native
native.show('''#include <linux/io_uring.h>
static unsigned word;
static void *waits(void *x) { syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0, 0, 0); return 0; }
int main(void) { struct io_uring_params p = {0}; int ring = syscall(SYS_io_uring_setup, 4, &p); if (ring < 0) return 9;
char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
char *s = mmap(0, p.sq_entries * 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
struct timespec t = {(long)secs(), 0}; memset(s, 0, 128); struct io_uring_sqe *e = (void *)s;
e[0].opcode = IORING_OP_TIMEOUT; e[0].fd = -1; e[0].addr = (unsigned long)&t; e[0].len = 1; e[0].flags = IOSQE_IO_HARDLINK;
e[1].opcode = 52; e[1].fd = 2 | 128; e[1].addr = (unsigned long)&word; e[1].off = 1; *(unsigned long *)(s + 64 + 48) = 0xffffffff;
unsigned *a = (unsigned *)(sq + p.sq_off.array); a[0] = 0; a[1] = 1; *(unsigned *)(sq + p.sq_off.tail) += 2;
pthread_t h; pthread_create(&h, 0, waits, 0); usleep(300000); if (syscall(SYS_io_uring_enter, ring, 2, 0, 0, 0, 0) != 2) return 7;
pthread_join(h, 0); return 0; }''', condition=lambda pid: len(tree.threads(pid)) == 2 and tree.all_in_call(pid, 'futex'))
