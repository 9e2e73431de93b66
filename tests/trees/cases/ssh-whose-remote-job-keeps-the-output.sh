# truth: hung
# verdict: HUNG WAITING
# cause: ssh|output|open|connection|session
# certain: no
# moves: the remote server looks for its end twice a second
# needs: root ssh sshd ssh-keygen node
# about: an agent's tool starts a server on another host in the background; the remote shell is over, and the server keeps the session's output open, for whose end ssh waits (RFC 4254, 5.3; OpenSSH FAQ 3.10: ssh hangs on exit)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
DO='{"tools":[["bash","-c","ssh -F config host \"python3 -m http.server --bind 127.0.0.1 0 & echo \\$! >'"$D"'/server; touch '"$D"'/over\"; exit"]],"end":true}' agent cursor-agent -p go </dev/null &
A=$!
await test -e over
await waits_below $A ssh poll
await python3 -c "import os; assert b'http.server' in open('/proc/%s/cmdline' % open('server').read().strip(), 'rb').read()"
echo "kill -9 $(<server)" >cleanup
ready $A
wait $A
