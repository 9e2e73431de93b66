# truth: healthy
# then: ends
# about: a shell waits for the first of two jobs and ends then (bash(1), wait -n)
. "${0%/*}/lib/tree.sh"
show . wait bash -c 'sleep "$SECS" & sleep 100000 & q=$!; wait -n; kill $q; exit 0'
