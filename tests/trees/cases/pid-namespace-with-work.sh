# truth: healthy
# then: ends
# needs: unshare root
# about: a process in a PID namespace of its own works for a time (unshare(1), --fork --pid --kill-child)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep unshare --fork --pid --mount-proc --kill-child sh -c 'sleep "$SECS"; exit 0'
