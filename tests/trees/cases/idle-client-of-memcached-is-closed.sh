# truth: healthy
# then: ends
# needs: memcached
# about: memcached -o idle_timeout=N closes a connection that is idle for N seconds (memcached(1)); the client reads without a limit.
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
memcached -u root -l 127.0.0.1 -p $PORT -t 2 -o idle_timeout="${SECS%.*}" >log 2>&1 &
S=$!
python3 -c "
import socket, time
while True:
    try: s = socket.create_connection(('127.0.0.1', $PORT)); break
    except OSError: time.sleep(.1)
s.sendall(b'version\r\n'); s.recv(999); s.recv(999)" &
P=$!
await in_call $P recv
sleep .3
ready $P
wait $P; r=$?
kill $S; wait $S; exit $r
