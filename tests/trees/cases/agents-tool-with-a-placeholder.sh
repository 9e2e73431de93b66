# truth: healthy
# then: ends
# needs: node
# about: an agent's tool runs a build with a placeholder, `tail -f /dev/null`, which it ends afterwards; the build waits for a lock that a process outside of the tree has for a time (tail(1), flock(1))
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 25))
setsid -f bash -c 'exec 9>lock; flock 9; touch has; sleep "$SECS"' </dev/null >/dev/null 2>&1
await test -e has
echo 'tail -f /dev/null & K=$!; flock lock true; kill $K; exit 0' >build.sh
DO='{"tools":[["bash","build.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A flock flock
ready $A
wait $A
