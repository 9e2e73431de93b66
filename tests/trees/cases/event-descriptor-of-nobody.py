# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: event
# needs: gcc
# about: the only process that has an eventfd reads it (eventfd(2))
from lib import tree, native
native.show('int main(void) { long n; int fd = eventfd(0, 0); read(fd, &n, 8); return 0; }', 'read')
