# truth: healthy
# then: ends
# about: a script follows a server's log until its line `ready` is there, which the server writes after a time (tail(1), grep(1), -m)
. "${0%/*}/lib/tree.sh"
: >log
cat >run <<'S'
(sleep "$SECS"; echo "ready now" >>log; exec sleep 900) >server.out 2>&1 &
S=$!
tail -n +1 -f log | grep -m1 ready >found
kill $S
exit 0
S
bash run &
P=$!
await waits_below $P grep read
ready $P
wait $P
