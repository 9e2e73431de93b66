# truth: healthy
# then: ends
# needs: gcc
# about: a program takes the signal of a message queue, into which its child sends after a time (mq_notify(3), SIGEV_SIGNAL; sigwaitinfo(2))
from lib import tree, native
native.show('''#include <mqueue.h>
int main(void) { char name[99]; sprintf(name, "/tree-%d", getpid()); struct mq_attr a = {0, 4, 16}; mqd_t q = mq_open(name, O_RDWR | O_CREAT, 0600, &a); mq_unlink(name);
sigset_t m; sigemptyset(&m); sigaddset(&m, SIGUSR1); sigprocmask(SIG_BLOCK, &m, 0); struct sigevent v = {0}; v.sigev_notify = SIGEV_SIGNAL; v.sigev_signo = SIGUSR1; mq_notify(q, &v);
if (!fork()) { nap(); mq_send(q, "x", 1, 0); _exit(0); }
siginfo_t i; sigwaitinfo(&m, &i); wait(0); return 0; }''', 'sigwait')
