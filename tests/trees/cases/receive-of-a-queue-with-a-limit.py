# truth: healthy
# then: ends
# needs: gcc
# about: a program receives from a queue of its own for a time (mq_timedreceive(2): an absolute time)
from lib import tree, native
native.show('''#include <mqueue.h>
int main(void) { struct mq_attr a = {0, 4, 64}; char n[40], b[64]; sprintf(n, "/tree-%d", getpid()); mqd_t q = mq_open(n, O_RDWR | O_CREAT, 0600, &a); mq_unlink(n);
struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += (long)secs(); mq_timedreceive(q, b, 64, 0, &t); return errno != ETIMEDOUT; }''', 'mq')
