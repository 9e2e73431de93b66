# truth: healthy
# then: ends
# needs: gcc
# about: a program computes until an alarm on its processor time is handled (setitimer(2), ITIMER_VIRTUAL)
from lib import tree, native
native.show('''static void h(int s) { _exit(0); } int main(void) { struct itimerval t = {{0, 0}, {secs(), 0}}; signal(SIGVTALRM, h); setitimer(ITIMER_VIRTUAL, &t, 0); for (;;) ; }''',
            condition=lambda pid: int(open(f'/proc/{pid}/stat').read().rpartition(') ')[2].split()[11]) > 10)
