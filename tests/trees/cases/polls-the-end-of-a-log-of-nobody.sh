# truth: hung
# verdict: HUNG WAITING WORKING
# cause: poll|log|file|loop|again
# needs: node
# moves: the tool's shell looks every five seconds
# about: an agent's tool looks each five seconds whether a log has its last line; the job that wrote it was killed (grep(1), -q)
. "${0%/*}/lib/tree.sh"
bash -c 'exec >log; echo begun; kill -KILL $$'
await test -s log
DO='{"tools":[["bash","-c","until grep -q BUILD log; do [ -e seen ] || touch seen; sleep 5; done"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e seen
await waits_below $A sleep nanosleep
ready $A
wait $A
