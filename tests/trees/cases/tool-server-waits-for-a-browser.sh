# truth: hung
# verdict: HUNG WAITING
# cause: listen|server(\.js)?\b|tool call
# not: has been silent
# certain: no
# needs: node
# about: a tool call is open: its server listens for a browser's extension that never connects; the agent's connection to the model is an idle keep-alive one
. "${0%/*}/lib/tree.sh"
echo 'require("net").createServer(() => {}).listen(0, "127.0.0.1"); process.stdin.on("data", () => require("fs").writeFileSync("asked", ""));' >server.js
server answered
DO='{"model":'$PORT',"servers":[{"cmd":["node","server.js"],"send":[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"click"}}]}]}' agent claude -p go </dev/null &
A=$!
await test -e asked
ready $A
wait $A
