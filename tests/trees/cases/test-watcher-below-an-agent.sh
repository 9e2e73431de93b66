# truth: hung
# verdict: HUNG WAITING
# cause: watch|file|node|test
# certain: no
# needs: node
# about: an agent's one-shot tool runs the tests in watch mode: all have passed, and the runner watches its files and never ends (node --test --watch)
. "${0%/*}/lib/tree.sh"
mkdir src
echo 'require("node:test")("adds", () => {}); process.on("exit", () => require("fs").writeFileSync(process.env.D + "/tested", ""));' >src/one.test.js
DO='{"tools":[["bash","-c","cd src; node --test --watch one.test.js; exit"]],"end":true}' agent gemini -p go </dev/null &
A=$!
await test -e tested
below $A bash; B=$CHILD
alone() { below "$B" node && [ -z "$(cat /proc/"$CHILD"/task/*/children)" ] && in_call "$CHILD" epoll; }
await alone
ready $A
wait $A
