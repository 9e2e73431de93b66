# truth: hung
# cause: index\.lock|polls|file|loop
# moves: the tool's shell looks every two seconds
# needs: git node
# about: an agent's tool waits until .git/index.lock is gone; the git that made it was killed, and nobody else removes it (git(1): lock files; bash(1), while)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1
git init -q repo && cd repo
git config user.name t; git config user.email t@example.com
echo a >a; git add a; git commit -qm a; echo b >a
mkfifo ../hold
printf '#!/bin/sh\necho $$ >../hook\nread x <../hold\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
git commit -qam b & G=$!
await test -s ../hook
kill -9 $G; kill -9 "$(<../hook)"; wait $G 2>/dev/null
[ -e .git/index.lock ] || exit 97
rm .git/hooks/pre-commit
DO='{"tools":[["bash","-c","while [ -e .git/index.lock ]; do sleep 2; done; git add a && git commit -qm c"]],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A sleep nanosleep
ready $A
wait $A
