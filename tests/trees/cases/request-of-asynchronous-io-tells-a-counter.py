# truth: healthy
# then: ends
# needs: gcc
# about: io_submit(2): IOCB_FLAG_RESFD adds one to an event descriptor when a request completes; here a poll of a timer, and the program reads the event descriptor.
from lib import native, tree
native.show(r'''#include <linux/aio_abi.h>
int main(void){ aio_context_t c=0; syscall(SYS_io_setup,4,&c); int t=timerfd_create(CLOCK_MONOTONIC,0); struct itimerspec s=after(); timerfd_settime(t,0,&s,0);
 int e=eventfd(0,0); struct iocb b={0},*l[1]={&b}; b.aio_fildes=t; b.aio_lio_opcode=5; b.aio_buf=POLLIN; b.aio_flags=1; b.aio_resfd=e; if(syscall(SYS_io_submit,c,1,l)!=1) return 9;
 uint64_t v; return read(e,&v,8)==8?0:8;}''', 'read')
