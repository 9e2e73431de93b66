# truth: healthy
# then: ends
# needs: gcc
# about: fcntl(2) O_ASYNC, inotify(7): signal-driven input works for inotify; the program reads its own pipe until SIGIO comes, and a foreign process makes a file later.
from lib import native
native.show(r'''static void h(int s){_exit(0);} int main(void){ int i=inotify_init(); mkdir("w",0700); inotify_add_watch(i,"w",IN_CREATE); signal(SIGIO,h);
 if(!fork()){setsid(); if(fork())_exit(0); for(int k=0;k<20;k++)close(k); nap(); close(open("w/x",O_CREAT|O_WRONLY,0600)); _exit(0);} wait(0);
 int p[2]; pipe(p); fcntl(i,F_SETOWN,getpid()); fcntl(i,F_SETFL,O_ASYNC); char c; read(p[0],&c,1); return 1;}''','read')
