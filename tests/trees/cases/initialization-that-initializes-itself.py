# truth: hung
# cause: thread|lock|itself
# needs: gcc
# about: a once-only initialization calls itself and waits for its own end (pthread_once(3p))
from lib import tree, native
native.show('''static pthread_once_t o = PTHREAD_ONCE_INIT; static void f(void) { pthread_once(&o, f); }
int main(void) { f(); pthread_once(&o, f); return 0; }''', 'futex')
