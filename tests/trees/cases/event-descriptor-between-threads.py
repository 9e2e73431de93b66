# truth: healthy
# then: ends
# needs: gcc
# about: a thread reads an eventfd, to which another one adds after a time (eventfd(2))
from lib import tree, native
native.show('static int fd; static void *f(void *a) { nap(); eventfd_write(fd, 1); return 0; } int main(void) { long n; pthread_t t; fd = eventfd(0, 0); pthread_create(&t, 0, f, 0); read(fd, &n, 8); return 0; }', 'read')
