# truth: healthy
# then: ends 124
# needs: node timeout
# about: an agent's tool runs a server in watch mode below timeout (timeout(1): exit code 124; node --watch)
. "${0%/*}/lib/tree.sh"
echo 'require("net").createServer(() => {}).listen(0, "127.0.0.1", () => require("fs").writeFileSync("up", ""))' >server.js
DO='{"tools":[["bash","-c","timeout '"$SECS"' node --watch server.js; exit $?"]],"end":true}' agent gemini -p go </dev/null &
A=$!
await test -e up
ready $A
wait $A
