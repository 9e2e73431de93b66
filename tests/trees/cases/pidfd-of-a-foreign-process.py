# truth: healthy
# then: ends
# needs: gcc
# about: a command polls the handle of a process outside of its tree, which ends after a time (pidfd_open(2))
from lib import tree, native
native.waits_for_other('pidfd')
