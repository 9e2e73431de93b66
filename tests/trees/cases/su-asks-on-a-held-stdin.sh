# truth: hung
# cause: stdin|standard input|password
# culprit: su\b
# needs: root su setpriv node
# about: an agent's tool runs su as a plain user with a pipe as stdin, which the agent keeps open; without a terminal the password is asked for on stdin (su(1); pam_conv, misc_conv(3))
. "${0%/*}/lib/tree.sh"
chmod 755 "$D"
DO='{"tools":[{"cmd":["setpriv","--reuid=65534","--regid=65534","--clear-groups","su","root","-c","true"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A su read
ready $A
wait $A
