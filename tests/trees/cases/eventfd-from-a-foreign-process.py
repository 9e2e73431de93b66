# truth: healthy
# then: ends
# needs: gcc
# about: a command reads an eventfd that a process outside of its tree has too and adds to (eventfd(2))
from lib import tree, native
native.waits_for_other('eventfd')
