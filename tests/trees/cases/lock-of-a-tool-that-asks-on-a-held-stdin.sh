# truth: hung
# cause: stdin|pipe|input
# culprit: rm
# needs: node
# about: an agent runs two tools at once; the first one has a lock and asks a question on its stdin, a pipe that the agent keeps open, and the second one waits for the lock (rm(1), -i; flock(1))
. "${0%/*}/lib/tree.sh"
export HOME=$D
touch file
DO='{"tools":[{"cmd":["flock","lock","sh","-c","touch has; rm -i file"],"stdio":["pipe","pipe","pipe"]},["sh","-c","until [ -e has ]; do sleep .1; done; exec flock lock true"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A rm read
two() { [ "$(pgrep -P $A -x flock | wc -l)" = 2 ]; }
await two
ready $A
wait $A
