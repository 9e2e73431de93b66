# truth: hung
# verdict: HUNG WAITING
# cause: debug|inspect
# certain: no
# needs: node
# about: NODE_OPTIONS=--inspect-brk reached a test: it waits for a debugger at a port (node, Debugging guide)
. "${0%/*}/lib/tree.sh"
echo 'console.log(1)' >test.js
DO='{"tools":[["bash","-c","NODE_OPTIONS=--inspect-brk=127.0.0.1:0 node test.js 2>said; true"]]}' agent claude -p go </dev/null &
A=$!
await grep -q listening said
ready $A
wait $A
