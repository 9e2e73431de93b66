# truth: healthy
# then: ends 143
# needs: busybox
# about: busybox's timeout runs the command itself, and a process that left it sends the signal (busybox timeout)
. "${0%/*}/lib/tree.sh"
mkfifo in
exec 8<>in
busybox timeout "$SECS" cat <in &
P=$!
await in_call $P read
ready $P
wait $P
