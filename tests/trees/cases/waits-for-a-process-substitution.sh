# truth: healthy
# then: ends
# about: a script waits for the reader of its process substitution, which takes its time over the last line (bash(1), Process Substitution and wait)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep bash -c 'echo x > >(read x; sleep "$SECS"; exit 0); wait $!'
