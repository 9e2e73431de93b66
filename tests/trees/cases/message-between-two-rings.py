# truth: healthy
# then: ends
# needs: gcc
# about: io_uring(7): IORING_OP_MSG_RING (40) puts a completion into the ring of another process, whose descriptor it has inherited; the waiting ring has no request of its own.
from lib import native
native.show(r'''#include <linux/io_uring.h>
static void sub(int r,struct io_uring_params p,struct io_uring_sqe x){ char*sq=mmap(0,p.sq_off.array+p.sq_entries*4,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQ_RING);
 struct io_uring_sqe*e=mmap(0,p.sq_entries*sizeof*e,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQES); *e=x; ((unsigned*)(sq+p.sq_off.array))[0]=0; ++*(unsigned*)(sq+p.sq_off.tail); syscall(SYS_io_uring_enter,r,1,0,0,0,0);}
int main(void){ struct io_uring_params p={0},q={0}; int r=syscall(SYS_io_uring_setup,4,&p);
 if(!fork()){setsid(); if(fork())_exit(0); int s=syscall(SYS_io_uring_setup,4,&q); nap(); struct io_uring_sqe x={0}; x.opcode=40; x.fd=r; x.len=7; sub(s,q,x); sleep(1); _exit(0);} wait(0);
 return syscall(SYS_io_uring_enter,r,0,1,IORING_ENTER_GETEVENTS,0,0)<0;}''','uring')
