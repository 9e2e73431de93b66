# truth: hung
# cause: stdin|pipe|input
# culprit: git
# needs: git node
# about: an agent's tool runs `git add -p`, which asks about each hunk on its stdin, a pipe that the agent keeps open (git-add(1), -p)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1
git init -q repo; cd repo; git config user.name t; git config user.email t@example.com
echo a >a; git add a; git commit -qm a; echo b >a
DO='{"tools":[{"cmd":["git","add","-p"],"stdio":["pipe","pipe","pipe"]}],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A git read
ready $A
wait $A
