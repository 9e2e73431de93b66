# truth: hung
# verdict: HUNG WAITING
# cause: silent|answer|server\.py|connection
# args: --silent 3s
# certain: no
# about: a client reads the event stream of a run that is over: the stream is open and silent
. "${0%/*}/lib/tree.sh"
server silent
export PORT
named conductor python3 -c "import os, socket; s = socket.create_connection(('127.0.0.1', int(os.environ['PORT']))); s.sendall(b'GET /runs/1/stream HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n'); s.recv(100)" </dev/null &
A=$!
await in_call $A recv
ready $A
wait $A
