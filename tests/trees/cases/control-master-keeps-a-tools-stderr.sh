# truth: hung
# verdict: HUNG WAITING
# cause: stderr|output|pipe|hold|held|keeps|open
# culprit: ssh
# needs: root ssh sshd ssh-keygen node
# about: ssh has left a master in the background that keeps the tool's stderr; the agent reads that to its end, which never comes (with -v only: ssh_config(5), ControlPersist yes)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
export HOME=$D
start_sshd
printf ' ControlMaster auto\n ControlPath %s/cm\n ControlPersist yes\n' "$D" >>config
tool "ssh -v -F config host 'echo done >$D/ran'" &
A=$!
await test -e ran
await test -S cm
alone() { [ -z "$(cat /proc/$A/task/*/children | tr -d ' ')" ] ; }
await alone
ready $A
wait $A
