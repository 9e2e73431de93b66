# truth: healthy
# then: ends
# needs: watch node
# about: an agent's tool repeats a command until its output changes, which a job of the same shell does after a time (watch(1), -g)
. "${0%/*}/lib/tree.sh"
mkdir out
DO='{"tools":[["bash","-c","(sleep '"$SECS"'; touch out/built) >/dev/null 2>&1 & TERM=xterm watch -g -n 2 ls out; wait"]],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A watch nanosleep select poll
ready $A
wait $A
