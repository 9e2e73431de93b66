# truth: healthy
# then: ends 152
# needs: gcc
# about: a loop ends by the limit of its processor time (setrlimit(2), RLIMIT_CPU)
from lib import tree, native
native.show('int main(void) { struct rlimit l = {secs(), secs() + 9}; setrlimit(RLIMIT_CPU, &l); for (;;) ; }',
            condition=lambda pid: int(open(f'/proc/{pid}/stat').read().rpartition(') ')[2].split()[11]) > 10)
