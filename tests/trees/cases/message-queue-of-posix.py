# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a message of a POSIX queue, which a process outside of its tree sends (mq_overview(7))
from lib import tree, native
native.waits_for_other('mq')
