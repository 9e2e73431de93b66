# truth: healthy
# then: ends
# needs: parallel sem
# about: a job waits for a slot that another one has for a time (sem(1), --fg; it looks again at times)
. "${0%/*}/lib/tree.sh"
export HOME=$D PARALLEL_HOME=$D/p
mkdir p; touch p/will-cite
sem --fg --id tree-slot -j1 'touch has; sleep "$SECS"' &
await test -e has
sem --fg --id tree-slot -j1 true &
P=$!
await in_call $P nanosleep select wait
ready $P
wait $P
exit $?
