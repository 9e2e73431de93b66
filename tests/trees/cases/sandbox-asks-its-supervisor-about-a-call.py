# truth: healthy
# then: ends
# needs: gcc
# about: a sandboxed command's connect() waits for the sandbox's supervisor, which decides after a time and refuses it (seccomp_unotify(2))
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
if (!fork()) { struct seccomp_notif q = {0}; struct seccomp_notif_resp r = {0}; if (ioctl(n, SECCOMP_IOCTL_NOTIF_RECV, &q)) _exit(7); nap(); r.id = q.id; r.error = -EACCES; ioctl(n, SECCOMP_IOCTL_NOTIF_SEND, &r); _exit(0); }
close(n); close(h); int c; waitpid(target, &c, 0); wait(0); return WEXITSTATUS(c); }''', condition=lambda pid: tree.child_in_call(pid, 'connect') and len(tree.children(pid)) == 2 and tree.in_call(tree.children(pid)[1], 'nanosleep'))
