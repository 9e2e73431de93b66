# truth: healthy
# then: ends
# needs: node setsid
# about: an agent's tool follows a log until its line `ready`; a deployment outside of its tree writes it after a time, and goes on writing (tail(1); grep(1), -m; pipe(7), SIGPIPE)
. "${0%/*}/lib/tree.sh"
touch log
(setsid bash -c 'sleep "$SECS"; for n in 1 2 3 4 5 6 7 8 9; do echo ready; sleep 1; done' </dev/null >>log 2>/dev/null &)
DO='{"tools":[["bash","-c","tail -f log | grep -m1 ready; exit"]],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A grep read
ready $A
wait $A
