# truth: healthy
# then: ends
# needs: gcc root
# about: a profiler polls the event counter of a process outside of its tree: the poll ends with that process (perf_event_open(2): POLLHUP)
import os, subprocess
from lib import tree, more
more.foreign('import os, time; open("%s/p", "w").write(str(os.getpid())); os.rename("%s/p", "%s/pid"); time.sleep(float(os.environ["SECS"]))' % ((tree.D,) * 3))
tree.until(more.there, 'pid')
tree.write('one.c', '''#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int n, char **w) { struct perf_event_attr a; memset(&a, 0, sizeof a); a.size = sizeof a; a.type = PERF_TYPE_SOFTWARE; a.config = PERF_COUNT_SW_TASK_CLOCK; a.disabled = 0;
int f = syscall(SYS_perf_event_open, &a, atoi(w[1]), -1, -1, 0); if (f < 0) { perror("perf"); return 9; } mmap(0, 2 * 4096, 3, MAP_SHARED, f, 0);
struct pollfd p = {f, POLLIN, 0}; poll(&p, 1, -1); return !(p.revents & POLLHUP); }''')
subprocess.run(['gcc', '-w', '-o', f'{tree.D}/one', f'{tree.D}/one.c'], check=True)
tree.show([f'{tree.D}/one', open(f'{tree.D}/pid').read()], tree.in_call, 'poll')
