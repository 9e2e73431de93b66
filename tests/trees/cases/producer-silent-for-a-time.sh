# truth: healthy
# then: ends
# about: a shell reads from a pipe whose writer sleeps before its only line (pipe(7))
. "${0%/*}/lib/tree.sh"
bash -c '(sleep "$SECS"; echo hello) | sh -c "read line; exit 0"' &
P=$!
await waits_below $P sh read
ready $P
wait $P
