# truth: healthy
# then: ends
# needs: strace root
# about: strace follows a process that it did not start, until that one ends (strace(1), -p)
. "${0%/*}/lib/tree.sh"
sleep "$SECS" &
T=$!
await in_call $T nanosleep
strace -qq -o trace -p $T &
P=$!
await grep -q "TracerPid:.$P\$" "/proc/$T/status"
await in_call $P wait
ready $P
wait $P
exit $?
