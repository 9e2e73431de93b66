# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# needs: gcc
# about: setitimer(2): ITIMER_PROF counts down only processor time of the process; it sleeps in a read of a pipe that only it has, so the profiler's signal never comes.
from lib import native
native.show(r'''static void h(int s){_exit(3);} int main(void){ int p[2]; pipe(p); signal(SIGPROF,h); struct itimerval v={{0,0},{5,0}}; setitimer(ITIMER_PROF,&v,0);
 char c; read(p[0],&c,1); return 0;}''','read')
