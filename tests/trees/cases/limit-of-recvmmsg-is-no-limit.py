# truth: hung
# cause: datagram|socket|each other
# needs: gcc
# about: a parent receives two datagrams with a limit of 30 s, and its child sends one and waits for the answer: the limit is only looked at after a datagram (recvmmsg(2), BUGS)
from lib import tree, native
native.show('''int main(void) { int s[2]; char b[2][9]; socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
if (!fork()) { close(s[0]); send(s[1], "one", 3, 0); recv(s[1], b[0], 9, 0); send(s[1], "two", 3, 0); _exit(0); }
close(s[1]); struct iovec v[2] = {{b[0], 9}, {b[1], 9}}; struct mmsghdr m[2] = {0}; m[0].msg_hdr.msg_iov = v; m[1].msg_hdr.msg_iov = v + 1;
m[0].msg_hdr.msg_iovlen = m[1].msg_hdr.msg_iovlen = 1; struct timespec t = {30, 0};
recvmmsg(s[0], m, 2, 0, &t); send(s[0], "ok", 2, 0); wait(0); return 0; }''',
            condition=lambda pid: open(f'/proc/{pid}/syscall').read().startswith('299 ') and tree.child_in_call(pid, 'recv'))
