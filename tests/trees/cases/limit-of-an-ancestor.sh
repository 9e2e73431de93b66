# truth: healthy
# then: ends 124
# about: a command reads a FIFO that nobody writes to, and the question is about the command alone; timeout above it ends it after a time (timeout(1))
. "${0%/*}/lib/tree.sh"
mkfifo in
timeout "$SECS" bash -c 'exec 3<>in; cat <&3; exit 0' &
P=$!
await waits_below $P cat read
ready "$CHILD"
wait $P
exit $?
