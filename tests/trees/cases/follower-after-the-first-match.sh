# truth: hung
# verdict: HUNG WAITING WORKING
# cause: tail|busybox|follow
# moves: it looks each second
# certain: no
# needs: busybox
# about: `tail -f | grep -m1`: the line was found and grep is over; this tail learns of it with its next write only, and the log is over (busybox tail; pipe(7), SIGPIPE)
. "${0%/*}/lib/tree.sh"
echo 'ready now' >log
bash -c 'busybox tail -n 5 -f log | grep -m1 ready >found; exit 0' &
P=$!
await grep -q ready found
await waits_below $P busybox nanosleep
ready $P
wait $P
