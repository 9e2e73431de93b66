# truth: hung
# cause: terminal|stdin|pipe|input|tty
# culprit: unzip
# needs: unzip node python3
# about: an agent's tool unpacks over a file that is there already: unzip asks on its stdin, a pipe that the agent keeps open (unzip(1), -o; without a terminal it reads from stderr's or stdin's descriptor)
. "${0%/*}/lib/tree.sh"
echo a >a; python3 -m zipfile -c a.zip a
DO='{"tools":[{"cmd":["setsid","unzip","a.zip"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A unzip read
ready $A
wait $A
