# truth: healthy
# then: ends
# needs: root ssh sshd ssh-keygen curl node
# about: an agent's tool opens a tunnel in the background (ssh -f -N -L) and asks a server through it, which answers after a time; then it ends the tunnel
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
S=${SECS%.*}
export HOME=$D
start_sshd
SSHD=$(cat sshd.pid); SP=$PORT; rm -f port
SECS=$((S+3)) server late
P0=$(free_port)
tool "ssh -F config -M -S $D/cm -f -N -L 127.0.0.1:$P0:127.0.0.1:$PORT host >t.log 2>&1; curl -s http://127.0.0.1:$P0/; ssh -F config -S $D/cm -O exit host 2>/dev/null; exit 0" &
A=$!
await waits_below $A curl poll
ready $A
wait $A; C=$?
kill $SERVER $SSHD; exit $C
