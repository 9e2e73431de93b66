# truth: healthy
# then: ends 124
# needs: node
# about: an agent's tool runs `rm -i` below timeout with a pipe as stdin, which the agent keeps open: timeout ends it (timeout(1); rm(1), -i)
. "${0%/*}/lib/tree.sh"
export HOME=$D SECS=$((${SECS%.*} + 8))
touch file
DO='{"tools":[{"cmd":["timeout","'${SECS%.*}'","sh","-c","rm -i file; exit 3"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A rm read
ready $A
wait $A
