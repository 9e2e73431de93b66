# truth: healthy
# then: ends
# needs: nc node setsid
# about: an agent's tool waits with nc for one call, which a job outside of its tree makes after a time (nc(1), -l: without -k it ends after one connection)
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PORT
(setsid bash -c 'sleep "$SECS"; echo done | nc -N 127.0.0.1 $PORT; exit' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["nc","-l","127.0.0.1","'"$PORT"'"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A nc accept poll
ready $A
wait $A
