# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a named POSIX semaphore in shared memory, which a process outside of its tree posts (sem_overview(7))
from lib import tree, native
native.waits_for_other('sem')
