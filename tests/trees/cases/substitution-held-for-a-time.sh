# truth: healthy
# then: ends
# about: $(…) reads to the end of a pipe that a background job has for a time (bash(1), Command Substitution)
. "${0%/*}/lib/tree.sh"
show . read bash -c 'x=$(sleep "$SECS" & echo done); exit 0'
