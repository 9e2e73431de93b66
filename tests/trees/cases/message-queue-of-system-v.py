# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a message of a System V queue, which a process outside of its tree sends after a time (msgop(2))
from lib import tree, native
native.waits_for_other('msg')
