# truth: healthy
# then: ends
# needs: gcc
# about: the first thread joins one that reads a pipe of its own, which a third one cancels after a time (pthread_cancel(3); read is a cancellation point)
from lib import tree, native
native.show('''static int p[2]; static pthread_t r;
static void *reads(void *a) { char c; read(p[0], &c, 1); return 0; }
static void *cancels(void *a) { nap(); pthread_cancel(r); return 0; }
int main(void) { pthread_t c; pipe(p); pthread_create(&r, 0, reads, 0); pthread_create(&c, 0, cancels, 0); pthread_join(r, 0); return 0; }''', 'futex')
