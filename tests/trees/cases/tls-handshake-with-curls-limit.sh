# truth: healthy
# then: ends 28
# needs: curl
# about: a TLS client sent its ClientHello to a server that never says a word; curl's limit for connecting has the handshake in it (curl(1), --connect-timeout, default 300 s)
. "${0%/*}/lib/tree.sh"
server silent
curl -s --connect-timeout "$SECS" "https://127.0.0.1:$PORT/" &
P=$!
await in_call $P poll
connected() { grep -qi " 0100007F:$(printf %04X "$PORT") 01 " "/proc/$P/net/tcp"; }
await connected
ready $P
wait $P
E=$?
kill $SERVER
exit $E
