# truth: healthy
# then: ends
# needs: gcc
# about: a command waits for a word in a shared file, on which a process outside of its tree calls FUTEX_WAKE (futex(2))
from lib import tree, native
native.waits_for_other('futex')
