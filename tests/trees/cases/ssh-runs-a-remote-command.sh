# truth: healthy
# then: ends
# needs: root ssh sshd ssh-keygen
# about: ssh waits for a command on the other side of a loopback connection (ssh(1))
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
show . 'poll select' ssh -F config host "sleep $SECS"
