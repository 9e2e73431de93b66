# truth: healthy
# then: ends
# needs: gcc root ip unshare
# about: fcntl(2) O_ASYNC on a netlink socket sends SIGIO when a link changes; a foreign process in the same network namespace sets the loopback up later. Meanwhile the program reads its own pipe.
from lib import native
native.show(r'''#define _GNU_SOURCE
#include <sched.h>
#include <linux/netlink.h>
static void h(int s){_exit(0);} int main(void){ unshare(CLONE_NEWNET); int i=socket(AF_NETLINK,SOCK_RAW,0); struct sockaddr_nl a={AF_NETLINK,0,0,1}; bind(i,(void*)&a,sizeof a); signal(SIGIO,h);
 if(!fork()){setsid(); if(fork())_exit(0); for(int k=0;k<20;k++)close(k); nap(); execlp("ip","ip","link","set","lo","up",NULL); _exit(0);} wait(0);
 int p[2]; pipe(p); fcntl(i,F_SETOWN,getpid()); fcntl(i,F_SETFL,O_ASYNC); char c; read(p[0],&c,1); return 1;}''','read')
