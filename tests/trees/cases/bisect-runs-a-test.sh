# truth: healthy
# then: ends
# needs: git
# about: git bisect runs a test that takes its time for each commit (git-bisect(1), run)
. "${0%/*}/lib/tree.sh"
export HOME=$D GIT_CONFIG_NOSYSTEM=1
git init -q repo; cd repo; git config user.name t; git config user.email t@example.com
for n in 1 2 3 4; do git commit -q --allow-empty -m $n; done
git bisect start HEAD HEAD~3 >../log 2>&1
git bisect run sh -c 'sleep "$SECS"; exit 0' >../out 2>../err &
P=$!
await waits_below $P sleep nanosleep
ready $P
wait $P
