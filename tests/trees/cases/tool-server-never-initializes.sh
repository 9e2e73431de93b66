# truth: hung
# verdict: HUNG WAITING
# cause: answer|initialize|server\.js|request
# needs: node
# about: an agent waits for a tool server's answer to `initialize`, which never comes
. "${0%/*}/lib/tree.sh"
echo 'process.stdin.on("data", () => require("fs").writeFileSync("asked", ""))' >server.js
DO='{"servers":[{"cmd":["node","server.js"],"send":[{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}]}]}' agent agy -p go </dev/null &
A=$!
await test -e asked
ready $A
wait $A
