# truth: healthy
# then: ends
# needs: redis-server redis-cli
# about: a worker pops from an empty list without a limit; a producer pushes after a time (redis BLPOP)
. "${0%/*}/lib/tree.sh"
redis-server --port 0 --unixsocket "$D/socket" --save '' --dir "$D" >log &
R=$!
await test -S socket
(sleep "$SECS"; exec redis-cli -s socket lpush jobs 1) >pushed &
redis-cli -s socket blpop jobs 0 >got &
P=$!
await in_call $P recv
ready $P
wait $P
E=$?
kill $R
exit $E
