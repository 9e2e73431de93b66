# truth: healthy
# then: ends
# about: tail follows a log by name until its writer ends (tail(1), --pid)
. "${0%/*}/lib/tree.sh"
sleep "$SECS" >log &
show . 'poll select nanosleep' tail -F -s 1 --pid=$! log
