# truth: healthy
# then: ends
# needs: redis-server redis-cli
# about: redis keyspace notifications: with notify-keyspace-events Ex the server publishes an event when a key's time to live is over; the subscriber waits for that, and no other client is there.
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --bind 127.0.0.1 --port $PORT --save '' --notify-keyspace-events Ex >log 2>&1 &
S=$!
await redis-cli -p $PORT ping >/dev/null
redis-cli -p $PORT set k v EX "${SECS%.*}" >/dev/null
python3 -c "
import socket
s = socket.create_connection(('127.0.0.1', $PORT)); s.sendall(b'PSUBSCRIBE __keyevent@0__:expired\r\n'); s.recv(999); open('sub','w').close(); s.recv(999)" &
P=$!
await test -e sub
await in_call $P recv
ready $P
wait $P; r=$?
kill $S; wait $S; exit $r
