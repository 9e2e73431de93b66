# truth: healthy
# then: ends
# needs: gcc
# about: a command opens a file with a lease of another process, which gives it up after a time, or the kernel does after 45 s (fcntl(2), F_SETLEASE)
from lib import tree, native
native.waits_for_other('lease')
