# truth: hung
# cause: own|itself|no ?body|nothing|pipe
# needs: gcc
# about: setrlimit(2): RLIMIT_CPU limits processor time, not time; a process that sleeps in a read of its own pipe never reaches it.
from lib import native
native.show(r'''int main(void){ int p[2]; pipe(p); struct rlimit r={60,120}; setrlimit(RLIMIT_CPU,&r); char c; read(p[0],&c,1); return 0;}''','read')
