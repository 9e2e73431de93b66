# truth: healthy
# then: ends
# needs: node setsid flock
# about: an agent's tool waits for a lock that a job outside of its tree has while it computes (flock(1); bash(1), the loop is bounded by SECONDS)
. "${0%/*}/lib/tree.sh"
(setsid nice -n 19 flock lock bash -c 'touch has; while [ $SECONDS -lt ${SECS%.*} ]; do :; done' </dev/null >/dev/null 2>&1 &)
await test -e has
DO='{"tools":[["bash","-c","flock lock true; exit"]],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A flock flock
ready $A
wait $A
