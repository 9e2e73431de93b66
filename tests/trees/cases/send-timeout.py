# truth: healthy
# then: ends
# needs: gcc
# about: a send into a full socket has a limit, and the program ends then (socket(7), SO_SNDTIMEO)
from lib import tree, native
native.show('''int main(void) { static char b[1 << 22]; int s[2]; struct timeval t = {secs(), 0}; socketpair(AF_UNIX, SOCK_STREAM, 0, s); setsockopt(s[0], SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
int child = fork(); if (child == 0) { close(s[0]); pause(); } close(s[1]); send(s[0], b, sizeof b, 0); kill(child, SIGKILL); wait(0); return 0; }''', 'sendto')
