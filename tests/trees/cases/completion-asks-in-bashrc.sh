# truth: hung
# cause: standard input|stdin
# culprit: python3
# needs: node
# about: a tool's interactive shell reads ~/.bashrc, which sources a completion that asks a question (bash(1), INVOCATION)
. "${0%/*}/lib/tree.sh"
mkdir home
echo 'source <(python3 -c "input(\"Share usage data? [y/N] \")")' >home/.bashrc
HOME=$D/home DO='{"tools":[{"cmd":["bash","-i","-c","ls"],"stdio":["pipe","pipe","pipe"]}]}' agent claude -p go &
A=$!
await waits_below $A python3 read
ready $A
wait $A
