# truth: healthy
# then: ends
# needs: node
# about: an agent's tool starts a development server in the background, runs the tests below xargs, which take their time, and ends the server (bash(1), kill)
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 15))
printf 'python3 -m http.server --bind 127.0.0.1 0 >web 2>&1 & W=$!\necho "$SECS" | xargs -n1 sleep\nkill $W; exit 0\n' >tool.sh
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A sleep nanosleep
await waits_below $A python3 poll select
ready $A
wait $A
