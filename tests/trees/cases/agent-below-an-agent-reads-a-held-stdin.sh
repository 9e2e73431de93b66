# truth: hung
# cause: stdin|pipe|input
# culprit: gemini|Gemini
# needs: node
# about: an agent runs another agent in print mode as its tool; that reads its stdin to the end before it begins, since it is no terminal, and the first one keeps that pipe open (gemini -p: input is appended to the prompt)
. "${0%/*}/lib/tree.sh"
export HOME=$D
echo 'let s = ""; process.stdin.on("data", d => s += d); process.stdin.on("end", () => console.log("answer"));' >gemini.js
DO='{"tools":[{"cmd":["bash","-c","exec -a gemini node gemini.js -p question"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A node epoll
ready $A
wait $A
