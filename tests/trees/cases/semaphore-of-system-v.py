# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a System V semaphore, which a process outside of its tree raises (semop(2))
from lib import tree, native
native.waits_for_other('semop')
