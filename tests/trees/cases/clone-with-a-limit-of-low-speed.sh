# truth: healthy
# then: ends 128
# needs: git python3
# about: git clone waits for a silent server; it ends a transfer that is too slow for some seconds (git-config(1), http.lowSpeedLimit, http.lowSpeedTime)
. "${0%/*}/lib/tree.sh"
server silent
export HOME=$D GIT_TERMINAL_PROMPT=0
git -c http.lowSpeedLimit=1000 -c http.lowSpeedTime="${SECS%.*}" clone -q "http://127.0.0.1:$PORT/a.git" a 2>out &
P=$!
await waits_below $P git-remote-http select poll
ready $P
wait $P
E=$?
kill $SERVER
exit $E
