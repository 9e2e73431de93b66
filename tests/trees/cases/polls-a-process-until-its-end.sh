# truth: healthy
# then: ends
# about: a shell looks each second whether a process lives, which ends by itself (kill(1), -0)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep bash -c 'sleep "$SECS" & p=$!; while kill -0 $p 2>/dev/null; do sleep 1; done; exit 0'
