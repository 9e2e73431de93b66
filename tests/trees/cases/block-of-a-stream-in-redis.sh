# truth: healthy
# then: ends
# needs: redis-server python3
# about: a worker reads a stream and the server answers nil after the milliseconds of the request (redis XREAD, BLOCK); the client has no limit of its own
. "${0%/*}/lib/tree.sh"
redis-server --port 0 --unixsocket "$D/socket" --save '' --dir "$D" >log &
S=$!
await test -S socket
cat >worker.py <<'W'
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect('socket')
words = ['XREAD', 'BLOCK', str(int(float(os.environ['SECS']) * 1000)), 'STREAMS', 'jobs', '$']
s.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(w), w.encode()) for w in words))
assert s.recv(99) == b'*-1\r\n'
W
python3 worker.py &
P=$!
await in_call $P recv
ready $P
wait $P
E=$?
kill $S
exit $E
