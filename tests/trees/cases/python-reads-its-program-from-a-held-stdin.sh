# truth: hung
# cause: stdin|pipe|input
# culprit: python
# needs: node
# about: an agent's tool runs python3 without a program: it reads one from its stdin to the end, a pipe that the agent keeps open (Python, command line: without an interface option and no terminal, stdin is read to its end)
. "${0%/*}/lib/tree.sh"
export HOME=$D

DO='{"tools":[{"cmd":["python3"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A python3 read
ready $A
wait $A
