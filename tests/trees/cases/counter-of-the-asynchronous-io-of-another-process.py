# truth: healthy
# then: ends
# needs: gcc
# about: io_submit(2) IOCB_FLAG_RESFD: the completion of another process's request adds one to the event descriptor, which that process has closed itself.
from lib import native
native.show(r'''#include <linux/aio_abi.h>
int main(void){ int v=eventfd(0,0),g[2]; pipe(g); char c; uint64_t n;
 if(!fork()){setsid(); if(fork())_exit(0); aio_context_t x=0; syscall(SYS_io_setup,4,&x); int t=timerfd_create(CLOCK_MONOTONIC,0); struct itimerspec s=after(); timerfd_settime(t,0,&s,0);
  struct iocb b={0},*l[1]={&b}; b.aio_fildes=t; b.aio_lio_opcode=5; b.aio_buf=POLLIN; b.aio_flags=1; b.aio_resfd=v; syscall(SYS_io_submit,x,1,l); close(v); close(g[0]); write(g[1],"x",1); close(g[1]); pause(); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); return read(v,&n,8)!=8;}''','read')
