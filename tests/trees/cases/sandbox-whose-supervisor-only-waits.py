# truth: hung
# cause: seccomp|notif|supervis|sandbox|each other
# needs: gcc
# about: a sandboxed command's connect() waits for the decision of its supervisor, which waits for the command's end and never takes the question (seccomp_unotify(2))
from lib import tree, native
native.show('''#include <linux/seccomp.h>
#include <linux/filter.h>
#include <linux/audit.h>
#include <stddef.h>
#include <netinet/in.h>
static int say[2], target;
static int sandboxed(void) { int t = fork(); if (t) return t;
prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) }; struct sock_fprog g = {4, f};
int l = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &g); write(say[1], &l, sizeof l);
struct sockaddr_in a = {AF_INET, htons(9)}; a.sin_addr.s_addr = htonl(0x7f000001); int s = socket(AF_INET, SOCK_STREAM, 0);
_exit(connect(s, (void *)&a, sizeof a) && errno == EACCES ? 0 : 8); }
int main(void) { int l; pipe(say); target = sandboxed(); read(say[0], &l, sizeof l); int h = syscall(SYS_pidfd_open, target, 0), n = syscall(SYS_pidfd_getfd, h, l, 0); if (n < 0) return 9;
close(h); int c; waitpid(target, &c, 0); return WEXITSTATUS(c); }''', condition=lambda pid: tree.in_call(pid, 'wait') and tree.child_in_call(pid, 'connect'))
