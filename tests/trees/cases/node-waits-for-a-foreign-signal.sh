# truth: healthy
# then: ends
# needs: node
# about: an agent's tool, a script of node that serves nobody else, waits for SIGUSR2, which a process outside of its tree sends after a time (node, process.on)
. "${0%/*}/lib/tree.sh"
echo 'process.on("SIGUSR2", () => process.exit(0)); require("dgram").createSocket("udp4").bind(0, "127.0.0.1"); require("fs").writeFileSync("waiter", String(process.pid))' >one.js
(setsid bash -c 'until test -e waiter; do sleep .05; done; sleep "$SECS"; kill -USR2 $(<waiter)' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["node","one.js"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e waiter
sleep 1
ready $A
wait $A
