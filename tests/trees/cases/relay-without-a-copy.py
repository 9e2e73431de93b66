# truth: healthy
# then: ends
# needs: gcc
# about: a relay doubles its input from a pipe with tee() and splice(); the producer says its first byte after a time (tee(2), splice(2))
from lib import tree, native
native.show('''int main(void) { int a[2], b[2]; pipe(a); pipe(b); if (!fork()) { close(a[0]); close(b[0]); close(b[1]); nap(); write(a[1], "x", 1); _exit(0); }
close(a[1]); long n = tee(a[0], b[1], 99, 0); int o = open("/dev/null", O_WRONLY); splice(b[0], 0, o, 0, n, 0); wait(0); return n == 1 ? 0 : 8; }''',
            condition=lambda pid: open(f'/proc/{pid}/syscall').read().startswith('276 '))
