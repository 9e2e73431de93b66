# truth: healthy
# then: ends
# needs: node
# about: an agent's tool looks each five seconds whether a log has its last line, which a job outside of the tree, that has the log open, writes after a time (grep(1), -q)
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 20))
setsid -f bash -c 'exec >log; echo begun; sleep "$SECS"; echo BUILD SUCCESSFUL' </dev/null 2>/dev/null
await test -s log
DO='{"tools":[["bash","-c","until grep -q BUILD log; do [ -e seen ] || touch seen; sleep 5; done"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e seen
ready $A
wait $A
