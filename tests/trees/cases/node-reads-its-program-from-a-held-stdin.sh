# truth: hung
# cause: stdin|pipe|input
# culprit: node
# needs: node
# about: an agent's tool runs node without a program: it reads one from its stdin to the end, a pipe that the agent keeps open (node, CLI: -, stdin)
. "${0%/*}/lib/tree.sh"
export HOME=$D

DO='{"tools":[{"cmd":["bash","-c","exec node"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A node epoll
ready $A
wait $A
