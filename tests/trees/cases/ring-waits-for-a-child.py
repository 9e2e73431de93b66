# truth: healthy
# then: ends
# needs: gcc
# about: io_uring(7): IORING_OP_WAITID (50) completes when the child ends; the child sleeps.
# if: uname -r | grep -qE '^(6\.([7-9]|[1-9][0-9])|[7-9])'
from lib import native
native.show(r'''#include <linux/io_uring.h>
int main(void){ pid_t k=fork(); if(!k){nap();_exit(0);} struct io_uring_params p={0}; int r=syscall(SYS_io_uring_setup,4,&p);
 char*sq=mmap(0,p.sq_off.array+p.sq_entries*4,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQ_RING);
 struct io_uring_sqe*e=mmap(0,p.sq_entries*sizeof*e,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQES); memset(e,0,sizeof*e);
 e->opcode=50; e->fd=k; e->len=1/*P_PID*/; e->file_index=WEXITED; static siginfo_t si; e->addr2=(unsigned long)&si;
 ((unsigned*)(sq+p.sq_off.array))[0]=0; ++*(unsigned*)(sq+p.sq_off.tail);
 return syscall(SYS_io_uring_enter,r,1,1,IORING_ENTER_GETEVENTS,0,0)<0;}''','uring')
