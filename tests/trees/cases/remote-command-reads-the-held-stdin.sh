# truth: hung
# cause: stdin|pipe|input
# needs: root ssh sshd ssh-keygen node
# about: an agent's tool runs a command on another host that reads its stdin to the end; that is a pipe which the agent keeps open (ssh(1), -n)
. "${0%/*}/lib/tree.sh"
. "$LIB/sshd.sh"
start_sshd
DO='{"tools":[{"cmd":["ssh","-F","config","host","sort"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below "$(<sshd.pid)" sort read
await waits_below $A ssh poll select
ready $A
wait $A
