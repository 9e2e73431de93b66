# truth: hung
# cause: pipe|tee|itself|each other|own
# culprit: tee|bash
# about: a script whose output is a process substitution waits for its reader, and its own stdout still is the pipe's only writer (bash(1), Process Substitution)
. "${0%/*}/lib/tree.sh"
bash -c 'exec > >(exec cat >log); T=$!; echo started; wait $T' &
P=$!
await waits_below $P cat read
await in_call $P wait
ready $P
wait $P
