# truth: healthy
# then: ends
# needs: gcc
# about: a program sleeps until SIGIO tells it of input in a pipe, which its child writes after a time (fcntl(2), O_ASYNC, F_SETOWN; sigsuspend(2))
from lib import tree, native
native.show('''static volatile int got; static void on(int n) { got = 1; }
int main(void) { int pp[2]; pipe(pp); sigset_t m, o; sigemptyset(&m); sigaddset(&m, SIGIO); sigprocmask(SIG_BLOCK, &m, &o); signal(SIGIO, on);
if (!fork()) { close(pp[0]); nap(); write(pp[1], "x", 1); _exit(0); }
close(pp[1]); fcntl(pp[0], F_SETOWN, getpid()); fcntl(pp[0], F_SETFL, O_ASYNC | O_NONBLOCK);
while (!got) sigsuspend(&o); wait(0); return 0; }''', 'sigsuspend')
