# truth: healthy
# then: ends 7
# needs: curl node
# about: an agent's tool asks a port at which nobody listens again and again, until its limit (curl(1), --retry-connrefused, --retry-max-time)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
DO='{"tools":[["bash","-c","curl -s --retry 1000 --retry-delay 1 --retry-connrefused --retry-max-time '"${SECS%.*}"' http://127.0.0.1:'"$PORT"'/health"]],"end":true}' agent opencode run go </dev/null &
A=$!
sleeps() { below $A curl && in_call "$CHILD" nanosleep poll; }
await sleeps
ready $A
wait $A
