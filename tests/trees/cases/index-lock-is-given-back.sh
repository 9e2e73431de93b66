# truth: healthy
# then: ends
# needs: git node
# about: an agent's tool waits until .git/index.lock is gone; a git that commits has it while its hook sleeps for a time (githooks(5), pre-commit)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1
git init -q repo && cd repo
git config user.name t; git config user.email t@example.com
echo a >a; git add a; git commit -qm a; echo b >a
printf '#!/bin/sh\necho $$ >../hook\nsleep %s\n' "$SECS" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
git commit -qam b & G=$!
await test -s ../hook
[ -e .git/index.lock ] || exit 97
DO='{"tools":[["bash","-c","while [ -e .git/index.lock ]; do sleep 2; done; git status -s"]],"end":true}' agent opencode run go </dev/null &
A=$!
await waits_below $A sleep nanosleep
ready $A
wait $A
E=$?
wait $G
exit $E
