# truth: hung
# cause: lock|futex|thread
# needs: gcc
# about: a thread has a read-write lock for reading and asks for it for writing (pthread_rwlock_wrlock(3p): blocks until no thread has it; a deadlock is at most detected, which glibc does for a writer only)
from lib import tree, native
native.show('int main(void) { pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER; pthread_rwlock_rdlock(&m); pthread_rwlock_wrlock(&m); return 0; }', 'futex')
