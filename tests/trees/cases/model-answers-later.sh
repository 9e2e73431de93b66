# truth: healthy
# then: ends
# needs: node
# about: an agent waits for a model's first byte, which comes after a time
. "${0%/*}/lib/tree.sh"
server late
DO='{"model":'$PORT',"end":true}' agent claude -p go </dev/null &
A=$!
connected() { grep -qi " 0100007F:$(printf %04X "$PORT") 01 " "/proc/$A/net/tcp"; }
await connected
ready $A
wait $A
