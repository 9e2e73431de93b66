# truth: healthy
# then: ends
# needs: valgrind gcc
# about: a program that sleeps runs in valgrind, which makes its system calls for it and has a pipe of its own as a lock between threads (valgrind(1))
. "${0%/*}/lib/tree.sh"
printf '#include <stdlib.h>\n#include <pthread.h>\n#include <unistd.h>\nvoid *t(void *a) { sleep(atoi(getenv("SECS"))); return 0; }\nint main(void) { pthread_t p; pthread_create(&p, 0, t, 0); pthread_join(p, 0); return 0; }\n' >a.c
gcc -o a a.c -pthread
valgrind -q ./a >out 2>&1 &
P=$!
two() { [ "$(ls /proc/$P/task | wc -l)" = 2 ] && in_call $P futex read; }
await two
ready $P
wait $P
