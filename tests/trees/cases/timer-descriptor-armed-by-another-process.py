# truth: healthy
# then: ends
# needs: gcc
# about: a program reads a timer's descriptor that is not armed; a process outside of its tree, which has it too, arms it after a time (timerfd_settime(2))
from lib import tree, native
native.show('''int main(void) { int t = timerfd_create(CLOCK_MONOTONIC, 0); if (!fork()) { setsid(); if (fork()) _exit(0); nap(); struct itimerspec i = {{0, 0}, {0, 1}}; timerfd_settime(t, 0, &i, 0); _exit(0); }
wait(0); long n; return read(t, &n, 8) == 8 ? 0 : 8; }''', 'read')
