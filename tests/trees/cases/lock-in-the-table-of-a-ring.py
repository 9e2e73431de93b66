# truth: healthy
# then: ends
# needs: gcc
# about: io_uring_register(2), flock(2): a registered file keeps the open file description, and so its lock, after close; the locker has ended, and a child with the ring ends later.
from lib import native
native.show(r'''#include <linux/io_uring.h>
int main(void){ int g[2]; pipe(g); char c; close(open("l",O_CREAT|O_RDWR,0600));
 if(!fork()){setsid(); if(fork())_exit(0); int f=open("l",O_RDWR); flock(f,LOCK_EX); struct io_uring_params q={0}; int r=syscall(SYS_io_uring_setup,4,&q); syscall(SYS_io_uring_register,r,IORING_REGISTER_FILES,&f,1); close(f);
 if(fork())_exit(0); close(g[0]); write(g[1],"x",1); close(g[1]); nap(); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); int f=open("l",O_RDWR); return flock(f,LOCK_EX);}''','flock')
