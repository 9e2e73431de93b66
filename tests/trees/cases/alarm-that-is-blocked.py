# truth: hung
# cause: signal|nothing|no ?body
# needs: gcc
# about: alarm(2), sigprocmask(2): SIGALRM is blocked in the only thread, so the alarm stays pending and pause never returns but for a foreign signal.
# certain: no
from lib import native
native.show(r'''int main(void){ sigset_t s; sigfillset(&s); sigprocmask(SIG_BLOCK,&s,0); alarm(40); int p[2]; pipe(p); char c; read(p[0],&c,1); return 0;}''','read')
