# truth: healthy
# then: ends
# needs: flock curl
# about: a script waits for a lock that another one has for a time, which asks a port each second until a server of the same tree listens there (flock(1), until curl; do sleep 1; done)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PORT
flock lock bash -c 'touch held; until curl -s -o /dev/null http://127.0.0.1:$PORT/; do sleep 1; done' &
(setsid bash -c 'sleep "$SECS"; exec timeout 20 python3 -m http.server $PORT --bind 127.0.0.1' </dev/null >/dev/null 2>&1 &)
await test -e held
bash -c 'flock lock true; exit $?' &
P=$!
await waits_below $P flock flock
ready $P
wait $P
