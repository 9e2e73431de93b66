# truth: healthy
# then: ends
# needs: gcc
# about: a program waits for a semaphore, which a function posts that the library's own thread calls at a message in a queue; a process outside of its tree sends it after a time (mq_notify(3), SIGEV_THREAD)
import os
from lib import tree, native, more
name = f'/tree-{os.getpid()}'
os.environ['QUEUE'] = name
tree.write('cleanup', f'rm -f /dev/mqueue{name} 2>/dev/null; true')
more.foreign('''
import ctypes, os, time
time.sleep(float(os.environ["SECS"])); rt = ctypes.CDLL("librt.so.1"); n = os.environ["QUEUE"].encode()
q = rt.mq_open(n, os.O_WRONLY); rt.mq_send(q, b"x", 1, 0); rt.mq_unlink(n)
''')
native.show('''#include <mqueue.h>
static sem_t s; static void come(union sigval v) { sem_post(&s); }
int main(void) { struct mq_attr a = {0, 4, 64}; mqd_t q = mq_open(getenv("QUEUE"), O_RDWR | O_CREAT, 0600, &a); struct sigevent e = {0}; sem_init(&s, 0, 0);
e.sigev_notify = SIGEV_THREAD; e.sigev_notify_function = come; if (mq_notify(q, &e)) return 9; sem_wait(&s); return 0; }''', 'futex')
