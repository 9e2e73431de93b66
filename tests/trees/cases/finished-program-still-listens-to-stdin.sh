# truth: hung
# cause: stdin|pipe|input
# culprit: node|tool
# needs: node
# about: an agent's tool in node has printed its result; its listener on stdin, a pipe that the agent keeps open, keeps the event loop alive (node, process.stdin; net.Socket.unref)
. "${0%/*}/lib/tree.sh"
export HOME=$D
echo 'process.stdin.on("data", () => {}); console.log(JSON.stringify({ ok: true }));' >tool.js
DO='{"tools":[{"cmd":["node","tool.js"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A node epoll
ready $A
wait $A
