# truth: hung
# verdict: HUNG WAITING WORKING
# cause: sleep|curl|again|poll|retr
# moves: it asks each second
# certain: no
# needs: node curl
# about: an agent's tool starts a server, which fails at once, and asks for its port for ever (until curl; do sleep; done)
. "${0%/*}/lib/tree.sh"
DO='{"tools":[["bash","-c","node -e \"process.exit(1)\" & P=$!; until curl -sf http://127.0.0.1:9/; do sleep 1; done; kill $P"]],"end":true}' agent claude -p go </dev/null &
A=$!
await below $A sleep
ready $A
wait $A
