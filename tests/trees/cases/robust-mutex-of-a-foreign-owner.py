# truth: healthy
# then: ends
# needs: gcc
# about: a program waits for a robust mutex in a shared file; its owner, outside of the tree, ends after a time, and the kernel gives it on (pthread_mutexattr_setrobust(3p), EOWNERDEAD)
import os, subprocess
from lib import tree, native, more
os.chdir(tree.D)
SRC = '''struct s { pthread_mutex_t m; volatile int has; };
int main(int n, char **w) { int f = open("shared", O_RDWR | O_CREAT, 0600); ftruncate(f, sizeof(struct s)); struct s *s = mmap(0, sizeof *s, 3, MAP_SHARED, f, 0);
if (n > 1) { pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_setpshared(&a, 1); pthread_mutexattr_setrobust(&a, 1); pthread_mutex_init(&s->m, &a); pthread_mutex_lock(&s->m); s->has = 1; nap(); _exit(0); }
while (!s->has) usleep(1000); return pthread_mutex_lock(&s->m) != EOWNERDEAD; }'''
tree.write('own.c', '#define _GNU_SOURCE\n' + ''.join(f'#include <{h}>\n' for h in 'errno.h fcntl.h pthread.h stdlib.h unistd.h sys/mman.h'.split())
           + 'static void nap(void) { usleep((useconds_t)(atof(getenv("SECS")) * 1e6)); }\n' + SRC)
subprocess.run(['gcc', '-w', '-o', 'own', 'own.c', '-pthread'], check=True)
more.foreign('import os; os.execv("./own", ["own", "x"])')
tree.until(lambda: os.path.exists('shared') and any(open('shared', 'rb').read()))
tree.show(['./own'], tree.in_call, 'futex')
