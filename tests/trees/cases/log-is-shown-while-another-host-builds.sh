# truth: healthy
# then: ends
# needs: node root ssh sshd ssh-keygen
# about: an agent's tool shows a log with tail -f in the background while ssh waits for a command of another host, and ends tail then (ssh(1))
. "${0%/*}/lib/tree.sh"
export HOME=$D SECS=$((${SECS%.*} + 8))
echo line >log
. "$LIB/sshd.sh"; start_sshd
cat >tool.sh <<'S'
tail -f log & T=$!
ssh -F config host "sleep $SECS"
kill $T; exit 0
S
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A tail read poll select nanosleep
await waits_below $A ssh poll select
ready $A
wait $A
