# truth: healthy
# then: ends
# needs: root ssh sshd ssh-keygen
# about: a second ssh shares the connection of a master process outside of its tree (ssh_config(5), ControlMaster)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
ssh -F config -M -S control -N -f host
await test -S control
ssh -F config -S control host "sleep $SECS" &
P=$!
await in_call $P poll select read
ready $P
wait $P
E=$?
ssh -F config -S control -O exit host 2>exit
exit $E
