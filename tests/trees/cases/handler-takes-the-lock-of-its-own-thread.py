# truth: hung
# cause: thread|lock
# needs: gcc
# about: a signal's handler takes the lock that the interrupted thread, the only one, has (signal-safety(7); pthread_mutex_lock is not async-signal-safe)
from lib import tree, native
native.show('''static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static void on(int n) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
int main(void) { signal(SIGUSR1, on); pthread_mutex_lock(&m); raise(SIGUSR1); pthread_mutex_unlock(&m); return 0; }''', 'futex')
