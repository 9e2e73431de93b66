# truth: healthy
# then: ends
# needs: root ssh sshd ssh-keygen node
# about: ssh has left a master in the background that keeps the tool's stderr until its time is over; the agent reads that to its end (with -v only: ssh_config(5), ControlPersist with a time)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
S=${SECS%.*}
export HOME=$D
start_sshd
printf ' ControlMaster auto\n ControlPath %s/cm\n ControlPersist %s\n' "$D" $((S+4)) >>config
tool "ssh -v -F config host 'echo done >$D/ran'" &
A=$!
await test -e ran
await test -S cm
alone() { [ -z "$(cat /proc/$A/task/*/children | tr -d ' ')" ] ; }
await alone
ready $A
wait $A; C=$?
kill $(cat sshd.pid); exit $C
