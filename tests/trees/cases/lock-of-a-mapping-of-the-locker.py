# truth: healthy
# then: ends
# needs: gcc
# about: flock(2), mmap(2): the locker has closed the descriptor, and still holds the lock by its mapping until it ends; it sleeps now.
from lib import native
native.show(r'''int main(void){ int g[2]; pipe(g); char c; close(open("l",O_CREAT|O_RDWR,0600)); truncate("l",4096);
 if(!fork()){setsid(); if(fork())_exit(0); int f=open("l",O_RDWR); flock(f,LOCK_EX); mmap(0,4096,3,MAP_SHARED,f,0); close(f); close(g[0]); write(g[1],"x",1); close(g[1]); nap(); _exit(0);} wait(0);
 close(g[1]); read(g[0],&c,1); close(g[0]); int f=open("l",O_RDWR); return flock(f,LOCK_EX);}''','flock')
