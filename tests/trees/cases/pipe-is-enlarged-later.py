# truth: healthy
# then: ends
# needs: gcc
# about: fcntl(2) F_SETPIPE_SZ: a larger pipe has room again; the writer's pipe is full, and the reader, which has it open for a long time yet, only enlarges it later.
from lib import native
native.show(r'''int main(void){ int p[2]; pipe(p); fcntl(p[1],F_SETPIPE_SZ,4096); 
 if(!fork()){setsid(); if(fork())_exit(0); close(p[1]); nap(); fcntl(p[0],F_SETPIPE_SZ,65536); sleep(1); _exit(0);} wait(0); signal(SIGPIPE,SIG_IGN);
 static char b[4096]; write(p[1],b,4096); return write(p[1],b,4096)!=4096;}''','write')
