# truth: waiting
# verdict: WAITING UNKNOWN
# then: run python3 -c 'import socket; socket.create_connection(("127.0.0.1", int(open("port").read()))).close()'
# needs: nc python3
# about: a script waits with nc for somebody to call its port (nc(1), -l)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "$PORT" >port
nc -l 127.0.0.1 "$PORT" </dev/null >got &
P=$!
await in_call $P accept poll
ready $P
wait $P
