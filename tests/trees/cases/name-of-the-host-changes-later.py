# truth: healthy
# then: ends
# needs: root gcc
# about: proc_sys_poll: a poll of /proc/sys/kernel/hostname reports POLLERR|POLLPRI when the name changes; a foreign process in the same uts namespace sets it later.
from lib import native
native.show(r'''#include <sched.h>
int main(void){ unshare(CLONE_NEWUTS); if(!fork()){setsid(); if(fork())_exit(0); for(int k=0;k<20;k++)close(k); nap(); sethostname("later",5); _exit(0);} wait(0);
 int f=open("/proc/sys/kernel/hostname",O_RDONLY); char b[99]; read(f,b,99); struct pollfd q={f,POLLPRI,0}; return poll(&q,1,-1)!=1;}''','poll')
