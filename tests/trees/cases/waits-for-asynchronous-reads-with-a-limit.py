# truth: healthy
# then: ends
# needs: gcc
# about: a program waits for the end of asynchronous reads of which none is under way, with a limit (io_getevents(2), timeout)
from lib import tree, native
native.show('''#include <linux/aio_abi.h>
int main(void) { aio_context_t c = 0; struct io_event v; if (syscall(SYS_io_setup, 4, &c)) return 9;
struct timespec t = {(long)secs(), 0}; return syscall(SYS_io_getevents, c, 1L, 1L, &v, &t) == 0 ? 0 : 8; }''',
            condition=lambda pid: open(f'/proc/{pid}/syscall').read().startswith('208 '))
