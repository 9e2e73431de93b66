# truth: healthy
# then: ends
# needs: gcc
# about: a thread waits for two futexes at once, until a time (futex_waitv, Documentation/userspace-api/futex2.rst)
import os
from lib import tree, native


def in_waitv(pid):
    with open(f'/proc/{pid}/syscall') as f:
        return f.read().split()[0] == '449'


native.show('''struct waitv { uint64_t val, uaddr; uint32_t flags, reserved; };
int main(void) { int a = 0, b = 0; struct waitv w[2] = {{0, (uint64_t)(unsigned long)&a, 2 | 128}, {0, (uint64_t)(unsigned long)&b, 2 | 128}};
struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); t.tv_sec += (long)secs(); syscall(449, w, 2, 0, &t, CLOCK_MONOTONIC); return errno == ETIMEDOUT ? 0 : 8; }''', condition=in_waitv)
