# truth: hung
# cause: stdin|pipe|input
# culprit: bc
# needs: bc node
# about: an agent's tool computes a file's lines with bc, which reads its stdin after the file, a pipe that the agent keeps open (bc(1): after the files, from the standard input)
. "${0%/*}/lib/tree.sh"
echo '2^64' >a.bc
DO='{"tools":[{"cmd":["bash","-c","bc a.bc | tail -1"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent gemini -p go </dev/null &
A=$!
await waits_below $A bc read
ready $A
wait $A
