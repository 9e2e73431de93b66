# truth: healthy
# then: ends
# needs: root ssh sshd ssh-keygen node
# about: an agent's tool starts a job on another host in the background; the remote shell is over, and the job keeps the session's output open until it ends (RFC 4254, 5.3; OpenSSH FAQ 3.10)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
DO='{"tools":[["bash","-c","ssh -F config host \"sleep '"$SECS"' & echo \\$! >'"$D"'/job; touch '"$D"'/over\"; exit"]],"end":true}' agent cursor-agent -p go </dev/null &
A=$!
await test -e over
await waits_below $A ssh poll
echo "kill -9 $(<job)" >cleanup
ready $A
wait $A
E=$?
kill "$(<sshd.pid)"
exit $E
