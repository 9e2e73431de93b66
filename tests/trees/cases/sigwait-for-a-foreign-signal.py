# truth: healthy
# then: ends
# needs: gcc
# about: a command has SIGUSR1 blocked and waits in sigwait; a process outside of its tree sends it after a time (sigwait(3))
from lib import tree, native
native.waits_for_other('sigwait')
