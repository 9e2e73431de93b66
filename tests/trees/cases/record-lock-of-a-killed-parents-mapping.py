# truth: healthy
# then: ends
# needs: gcc
# about: fcntl(2): an open file description lock belongs to the description, which a mapping keeps after the descriptor is closed and its opener has ended; a child has the mapping and ends later.
from lib import native
native.show(r'''int main(void){ int g[2]; pipe(g); char c; close(open("l",O_CREAT|O_RDWR,0600)); truncate("l",4096); struct flock k={.l_type=F_WRLCK,.l_len=10};
 if(!fork()){setsid(); if(fork())_exit(0); int f=open("l",O_RDWR); fcntl(f,F_OFD_SETLKW,&k); mmap(0,4096,3,MAP_SHARED,f,0); close(f); if(fork())_exit(0); close(g[0]); write(g[1],"x",1); close(g[1]); nap(); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); int f=open("l",O_RDWR); return fcntl(f,F_OFD_SETLKW,&k);}''','fcntl')
