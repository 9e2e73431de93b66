# truth: healthy
# then: ends
# needs: gcc
# about: a program pauses until its interval timer's signal is handled (setitimer(2), pause(2))
from lib import tree, native
native.show('static void h(int s) {} int main(void) { struct itimerval t = {{0, 0}, {secs(), 1}}; signal(SIGALRM, h); setitimer(ITIMER_REAL, &t, 0); pause(); return 0; }', 'pause')
