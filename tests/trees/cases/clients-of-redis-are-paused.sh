# truth: healthy
# then: ends
# needs: redis-server redis-cli
# about: a client's command waits since the server's clients are paused for a time (redis CLIENT PAUSE, ALL)
. "${0%/*}/lib/tree.sh"
redis-server --port 0 --unixsocket "$D/socket" --save '' --dir "$D" >log &
R=$!
await test -S socket
redis-cli -s socket client pause "${SECS%.*}000" all >paused
redis-cli -s socket get a >got &
P=$!
await in_call $P recv read
ready $P
wait $P
E=$?
kill $R
exit $E
