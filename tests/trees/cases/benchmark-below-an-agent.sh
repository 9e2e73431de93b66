# truth: healthy
# then: ends
# needs: openssl node
# about: an agent's tool computes for a time and says nothing in it (openssl-speed(1), -seconds: an interval timer)
. "${0%/*}/lib/tree.sh"
DO='{"tools":[["bash","-c","nice -n 19 openssl speed -seconds '"${SECS%.*}"' -bytes 64 sha256 2>/dev/null; exit"]],"end":true}' agent gemini -p go </dev/null &
A=$!
computes() { below $A openssl && state "$CHILD" R; }
await computes
ready $A
wait $A
