# truth: healthy
# then: ends
# needs: gcc
# about: msgrcv(2): EIDRM, the queue was removed while the process waited; a foreign process that has only its number removes it later.
from lib import native
native.show(r'''int main(void){ int q=msgget(IPC_PRIVATE,0600); if(!fork()){setsid(); if(fork())_exit(0); nap(); msgctl(q,IPC_RMID,0); _exit(0);} wait(0); struct{long t;char c[9];}m; return !(msgrcv(q,&m,9,0,0)<0&&errno==EIDRM);}''','msgrcv')
