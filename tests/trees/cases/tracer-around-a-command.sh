# truth: healthy
# then: ends
# needs: strace
# about: strace waits for the events of a command that sleeps (strace(1), -f)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep strace -f -o trace sleep "$SECS"
