# truth: healthy
# then: ends
# needs: gcc
# about: io_submit(2): IOCB_CMD_POLL of a timer's descriptor completes when it expires; io_getevents waits for it without a limit.
from lib import native, tree
N = lambda pid: open(f'/proc/{pid}/syscall').read().startswith('208 ')
native.show(r'''#include <linux/aio_abi.h>
int main(void){ aio_context_t c=0; syscall(SYS_io_setup,4,&c); int t=timerfd_create(CLOCK_MONOTONIC,0); struct itimerspec s=after(); timerfd_settime(t,0,&s,0);
 struct iocb b={0},*l[1]={&b}; b.aio_fildes=t; b.aio_lio_opcode=5; b.aio_buf=POLLIN; if(syscall(SYS_io_submit,c,1,l)!=1) return 9;
 struct io_event e; return syscall(SYS_io_getevents,c,1,1,&e,0)==1?0:8;}''', condition=N)
