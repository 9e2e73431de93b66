# truth: healthy
# then: ends
# needs: beanstalkd python3
# about: a worker asks a queue for a job, and the queue answers TIMED_OUT after the seconds of the request (beanstalkd protocol, reserve-with-timeout)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
beanstalkd -l 127.0.0.1 -p "$PORT" &
S=$!
cat >worker.py <<'W'
import os, socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
s.sendall(b'reserve-with-timeout %d\r\n' % int(float(os.environ['SECS'])))
assert s.recv(99) == b'TIMED_OUT\r\n'
W
await python3 -c "import socket; socket.create_connection(('127.0.0.1', $PORT))"
python3 worker.py "$PORT" &
P=$!
await in_call $P recv
ready $P
wait $P
E=$?
kill $S
exit $E
