# truth: healthy
# then: ends
# needs: root ssh sshd ssh-keygen
# about: ssh runs a command on a host behind another one: its proxy is an ssh of its own, whose input and output it has (ssh(1), -J)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
show . 'poll select' ssh -F config -o "ProxyCommand=ssh -F $D/config -W 127.0.0.1:$PORT host" host "sleep $SECS"
