# truth: hung
# cause: futex|lock|thread|deadlock
# needs: gcc
# about: a thread locks a mutex that it has already (pthread_mutex_lock(3p), PTHREAD_MUTEX_NORMAL)
from lib import tree, native
native.show('int main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }', 'futex')
