# truth: healthy
# then: ends
# needs: gcc
# about: io_uring_register(2) IORING_REGISTER_EVENTFD: completions add one to the event descriptor; the other process has closed its own descriptor of it, and waits in its ring for a timeout.
from lib import native
native.show(r'''#include <linux/io_uring.h>
int main(void){ int v=eventfd(0,0),g[2]; pipe(g); char c; uint64_t n;
 if(!fork()){setsid(); if(fork())_exit(0); struct io_uring_params q={0}; int r=syscall(SYS_io_uring_setup,4,&q); 
  syscall(SYS_io_uring_register,r,IORING_REGISTER_EVENTFD,&v,1); close(v); close(g[0]); 
  char*sq=mmap(0,q.sq_off.array+q.sq_entries*4,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQ_RING);
  struct io_uring_sqe*e=mmap(0,q.sq_entries*sizeof*e,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQES); memset(e,0,sizeof*e);
  struct {long long s,n;} t={(long long)secs(),1}; e->opcode=IORING_OP_TIMEOUT; e->fd=-1; e->addr=(unsigned long)&t; e->len=1; e->off=0;
  ((unsigned*)(sq+q.sq_off.array))[0]=0; ++*(unsigned*)(sq+q.sq_off.tail); write(g[1],"x",1); close(g[1]); syscall(SYS_io_uring_enter,r,1,1,IORING_ENTER_GETEVENTS,0,0); sleep(1); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); return read(v,&n,8)!=8;}''','read')
