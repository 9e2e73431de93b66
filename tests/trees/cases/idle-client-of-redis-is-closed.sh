# truth: healthy
# then: ends
# needs: redis-server redis-cli
# about: redis.conf: `timeout N` closes a client that is idle for N seconds; the client reads without a limit and ends with the connection.
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
redis-server --bind 127.0.0.1 --port $PORT --save '' --timeout "${SECS%.*}" >log 2>&1 &
S=$!
await redis-cli -p $PORT ping >/dev/null
python3 -c "
import socket
s = socket.create_connection(('127.0.0.1', $PORT)); s.sendall(b'PING\r\n'); s.recv(999); s.recv(999)" &
P=$!
await in_call $P recv
sleep .3
ready $P
wait $P; r=$?
kill $S; wait $S; exit $r
