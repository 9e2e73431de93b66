# truth: hung
# cause: tail|follow|never
# culprit: tail
# needs: node
# about: an agent's tool shows a log with tail -f in the background, its build is over, and the script waits for all its jobs (bash(1), wait without arguments)
. "${0%/*}/lib/tree.sh"
echo line >log
DO='{"tools":[["bash","-c","tail -f log & true; wait"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A tail read poll select nanosleep
ready $A
wait $A
