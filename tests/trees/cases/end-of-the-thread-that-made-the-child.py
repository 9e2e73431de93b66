# truth: healthy
# then: ends
# needs: gcc
# about: prctl(2) PR_SET_PDEATHSIG: the parent is the thread that forked; when that thread ends the child gets the signal. The child reads its own pipe, the main thread waits for the child, and the thread sleeps.
from lib import native, tree
native.show(r'''static volatile pid_t k; static void*t(void*a){ k=fork(); if(!k){prctl(PR_SET_PDEATHSIG,SIGKILL); int p[2]; pipe(p); char c; read(p[0],&c,1); _exit(1);} nap(); return 0;}
int main(void){ pthread_t x; pthread_create(&x,0,t,0); while(!k) usleep(1000); waitpid(k,0,0); return 0;}''', condition=lambda p: tree.in_call(p,'wait') and any(tree.in_call(k,'read') for k in tree.children(p)))
