# truth: healthy
# then: ends
# needs: inotifywait node
# about: an agent's tool watches a folder without a limit for the file that a job of the same shell makes after a time (inotifywait(1))
. "${0%/*}/lib/tree.sh"
mkdir out
DO='{"tools":[["bash","-c","(sleep '"$SECS"'; touch out/built) >/dev/null 2>&1 & inotifywait -qq -e create out; wait"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A inotifywait read poll select
ready $A
wait $A
