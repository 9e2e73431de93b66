# truth: hung
# verdict: HUNG WAITING WORKING
# cause: again|poll|loop|every
# moves: it tries again
# certain: no
# about: a script tries each two seconds to make a folder that is its lock; the process that made it has died (mkdir(2), EEXIST)
. "${0%/*}/lib/tree.sh"
bash -c 'mkdir lock; kill -9 $$' 2>/dev/null
bash -c 'while ! mkdir lock 2>/dev/null; do sleep 2; done; rmdir lock' </dev/null &
P=$!
await below $P sleep
ready $P
wait $P
