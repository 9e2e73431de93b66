# truth: healthy
# then: ends
# needs: gcc
# about: io_uring(7): IORING_OP_FUTEX_WAIT (51) completes when another process wakes the word in a shared mapping; a process that is no child of it does so later.
# if: uname -r | grep -qE '^(6\.([7-9]|[1-9][0-9])|[7-9])'
from lib import native
native.show(r'''#include <linux/io_uring.h>
int main(void){ int*w=mmap(0,4096,3,MAP_SHARED|MAP_ANONYMOUS,-1,0); if(!fork()){setsid(); if(fork())_exit(0); nap(); *w=1; syscall(SYS_futex,w,FUTEX_WAKE,1,0,0,0);_exit(0);} wait(0);
 struct io_uring_params p={0}; int r=syscall(SYS_io_uring_setup,4,&p);
 char*sq=mmap(0,p.sq_off.array+p.sq_entries*4,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQ_RING);
 struct io_uring_sqe*e=mmap(0,p.sq_entries*sizeof*e,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQES); memset(e,0,sizeof*e);
 e->opcode=51; e->fd=2/*FUTEX2_SIZE_U32*/; e->addr=(unsigned long)w; e->addr2=0; e->addr3=~0u;
 ((unsigned*)(sq+p.sq_off.array))[0]=0; ++*(unsigned*)(sq+p.sq_off.tail);
 return syscall(SYS_io_uring_enter,r,1,1,IORING_ENTER_GETEVENTS,0,0)<0;}''','uring')
