# truth: healthy
# then: ends 28
# needs: curl
# about: curl waits for a long poll's answer for at most its own limit (curl(1), --max-time)
. "${0%/*}/lib/tree.sh"
server silent
curl -sN --max-time "$SECS" "http://127.0.0.1:$PORT/poll" &
P=$!
connected() { grep -qi " 0100007F:$(printf %04X "$PORT") 01 " "/proc/$P/net/tcp"; }
await connected
await in_call $P poll select
ready $P
wait $P
