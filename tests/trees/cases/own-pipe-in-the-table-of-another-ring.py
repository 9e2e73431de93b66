# truth: healthy
# then: ends
# needs: gcc
# about: io_uring_register(2): as a registered file the write end lives in the ring of another process without a descriptor there; the reader has a write end of its own too.
from lib import native
native.show(r'''#include <linux/io_uring.h>
int main(void){ int p[2],g[2]; pipe(p); pipe(g); char c;
 if(!fork()){setsid(); if(fork())_exit(0); struct io_uring_params q={0}; int r=syscall(SYS_io_uring_setup,4,&q); int fds[1]={p[1]};
  syscall(SYS_io_uring_register,r,IORING_REGISTER_FILES,fds,1); close(p[0]); close(p[1]); close(g[0]); write(g[1],"x",1); close(g[1]); nap();
  char*sq=mmap(0,q.sq_off.array+q.sq_entries*4,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQ_RING);
  struct io_uring_sqe*e=mmap(0,q.sq_entries*sizeof*e,3,MAP_SHARED|MAP_POPULATE,r,IORING_OFF_SQES); memset(e,0,sizeof*e);
  e->opcode=IORING_OP_WRITE; e->flags=IOSQE_FIXED_FILE; e->fd=0; e->addr=(unsigned long)"x"; e->len=1; e->off=-1;
  ((unsigned*)(sq+q.sq_off.array))[0]=0; ++*(unsigned*)(sq+q.sq_off.tail); syscall(SYS_io_uring_enter,r,1,1,IORING_ENTER_GETEVENTS,0,0); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); return read(p[0],&c,1)!=1;}''','read')
