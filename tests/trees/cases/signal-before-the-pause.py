# truth: hung
# cause: signal|pause
# needs: gcc
# about: a program pauses until SIGCHLD's handler runs, which it did before: the child had already ended and is not reaped (pause(2); signal(7); the race that sigsuspend(2) is for)
from lib import tree, native
native.show('''
static void over(int s) { write(1, "", 0); }
int main(void) {
  struct sigaction a = {0}; a.sa_handler = over; sigaction(SIGCHLD, &a, 0);
  pid_t p = fork(); if (p == 0) _exit(0);
  siginfo_t i; while (waitid(P_PID, p, &i, WEXITED | WNOWAIT) != 0);
  pause(); return 0;
}''', 'pause')
