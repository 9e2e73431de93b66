# truth: healthy
# then: ends
# about: a client reads an event stream that says a line each second until its server ends it
. "${0%/*}/lib/tree.sh"
server ticks
export PORT
python3 -c "import os, socket; s = socket.create_connection(('127.0.0.1', int(os.environ['PORT']))); s.sendall(b'GET /\r\n\r\n'); [0 for _ in iter(lambda: s.recv(99), b'')]" &
P=$!
await in_call $P recv
ready $P
wait $P
