# truth: healthy
# then: ends 4
# needs: wget
# about: wget waits for a server that took the request and says nothing; it has a limit for reads (wget(1), --read-timeout, default 900 s)
. "${0%/*}/lib/tree.sh"
server silent
wget -q --read-timeout="$SECS" --tries=1 -O out "http://127.0.0.1:$PORT/" &
P=$!
await in_call $P select poll
ready $P
wait $P
E=$?
kill $SERVER
exit $E
