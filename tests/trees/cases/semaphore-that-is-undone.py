# truth: healthy
# then: ends
# needs: gcc
# about: semop(2): SEM_UNDO takes a process's operations back when it ends; a foreign process holds the semaphore so, and ends later without a word.
from lib import native
native.show(r'''int main(void){ int s=semget(IPC_PRIVATE,1,0600); semctl(s,0,SETVAL,1); struct sembuf d={0,-1,SEM_UNDO}; int p[2]; pipe(p); char c;
 if(!fork()){setsid(); if(fork())_exit(0); semop(s,&d,1); write(p[1],"x",1); close(p[0]); close(p[1]); nap(); _exit(0);} wait(0); read(p[0],&c,1); close(p[0]); close(p[1]);
 struct sembuf e={0,-1,0}; int r=semop(s,&e,1); semctl(s,0,IPC_RMID); return r;}''','semop')
