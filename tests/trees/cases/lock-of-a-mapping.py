# truth: healthy
# then: ends
# needs: gcc
# about: flock(2), mmap(2): a lock belongs to the open file description, and a mapping keeps that after the descriptor is closed. The process that locked has ended; a child of it has only the mapping, and ends later.
from lib import native
native.show(r'''int main(void){ int g[2]; pipe(g); char c; close(open("l",O_CREAT|O_RDWR,0600)); truncate("l",4096);
 if(!fork()){setsid(); if(fork())_exit(0); int f=open("l",O_RDWR); flock(f,LOCK_EX); mmap(0,4096,3,MAP_SHARED,f,0); close(f); if(fork())_exit(0); close(g[0]); write(g[1],"x",1); close(g[1]); nap(); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); int f=open("l",O_RDWR); return flock(f,LOCK_EX);}''','flock')
