# truth: healthy
# then: ends
# needs: gcc
# about: a program receives from a private queue of messages; a process outside of its tree, which knows its number, sends after a time (msgget(2), msgsnd(2))
from lib import tree, native
native.show('''int main(void) { int q = msgget(IPC_PRIVATE, 0600); struct { long t; char c; } m = {1, 'x'}; if (!fork()) { setsid(); if (fork()) _exit(0); nap(); msgsnd(q, &m, 1, 0); _exit(0); }
wait(0); long n = msgrcv(q, &m, 1, 0, 0); msgctl(q, IPC_RMID, 0); return n == 1 ? 0 : 8; }''', 'msgrcv')
