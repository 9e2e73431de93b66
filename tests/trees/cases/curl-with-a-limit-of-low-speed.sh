# truth: healthy
# then: ends 28
# needs: curl node
# about: curl waits for a silent server and gives up when the transfer was too slow for a time (curl(1), --speed-limit, --speed-time)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
server silent
tool "curl -sS --speed-limit 1 --speed-time $((S+2)) http://127.0.0.1:$PORT/" &
A=$!
await below $A curl
await grep -qi ":$(printf %04X $PORT) 0100007F:[0-9A-F]* 01 " /proc/net/tcp
ready $A
wait $A; C=$?
kill $SERVER; exit $C
