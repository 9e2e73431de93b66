# truth: hung
# cause: stdin|pipe|input
# culprit: node
# needs: node
# about: an agent's tool is a program's set-up that asks for a name by readline on its stdin, a pipe that the agent keeps open (node, readline.question)
. "${0%/*}/lib/tree.sh"
echo 'require("readline").createInterface({ input: process.stdin, output: process.stdout }).question("Name of the project: ", n => process.exit(0));' >setup.js
DO='{"tools":[{"cmd":["node","setup.js"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A node epoll
ready $A
wait $A
