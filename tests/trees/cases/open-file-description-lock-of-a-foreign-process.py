# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for an open file description lock of a process outside of its tree (fcntl(2), F_OFD_SETLKW)
from lib import tree, native
native.waits_for_other('ofd')
