# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a record lock of a process outside of its tree, which gives it back after a time (fcntl(2), F_SETLKW)
from lib import tree, native
native.waits_for_other('fcntl')
