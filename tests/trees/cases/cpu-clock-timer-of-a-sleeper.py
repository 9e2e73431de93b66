# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# needs: gcc
# about: timer_create(2): CLOCK_PROCESS_CPUTIME_ID advances only while the process uses the processor; it sleeps in a read of its own pipe, so the timer never expires and nobody else has the pipe.
from lib import native
native.show(r'''int main(void){ int p[2]; pipe(p); timer_t t; struct sigevent e={0}; e.sigev_notify=SIGEV_SIGNAL; e.sigev_signo=SIGTERM;
 timer_create(CLOCK_PROCESS_CPUTIME_ID,&e,&t); struct itimerspec s={{0,0},{60,0}}; timer_settime(t,0,&s,0); char c; read(p[0],&c,1); return 0;}''','read')
