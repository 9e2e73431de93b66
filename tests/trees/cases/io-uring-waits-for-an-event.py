# truth: healthy
# then: ends
# needs: gcc
# if: ! grep -qx 2 /proc/sys/kernel/io_uring_disabled
# about: a command waits in io_uring_enter for a poll of a pipe that a process outside of its tree writes (io_uring(7))
from lib import tree, native
native.waits_for_other('uring')
