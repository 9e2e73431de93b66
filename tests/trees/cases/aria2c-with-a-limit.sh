# truth: healthy
# then: ends 2
# needs: aria2c
# about: a download waits for a server that took the request and says nothing, for at most its limit (aria2c(1), --timeout, default 60 s, at most 600)
. "${0%/*}/lib/tree.sh"
server silent
T=${SECS%.*}; [ "$T" -gt 600 ] && T=600
aria2c -q --timeout="$T" --max-tries=1 --disable-ipv6 -d "$D" -o out "http://127.0.0.1:$PORT/" </dev/null &
P=$!
connected() { grep -qi " 0100007F:$(printf %04X "$PORT") 01 " "/proc/$P/net/tcp"; }
await connected
ready $P
wait $P
E=$?
kill $SERVER
exit $E
