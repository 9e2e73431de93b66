# truth: hung
# cause: stdin|pipe|input
# culprit: python
# needs: node
# about: an agent's tool is a module of Python that asks whether to go on, by input() on its stdin, a pipe that the agent keeps open (Python, -m, input)
. "${0%/*}/lib/tree.sh"
mkdir tool; echo 'input("Delete the old data? [y/N] ")' >tool/__main__.py
DO='{"tools":[{"cmd":["python3","-m","tool","migrate"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A python3 read
ready $A
wait $A
