# truth: healthy
# then: ends
# needs: flock
# about: a script waits for the lock of a deployment, which another one has for a time: it looks every three seconds whether a service is up (flock(1))
. "${0%/*}/lib/tree.sh"
(setsid flock lock bash -c 'touch held; end=$((SECONDS + $(printenv SECS | cut -d. -f1))); while [ $SECONDS -lt $end ]; do sleep 3; done' </dev/null >/dev/null 2>&1 &)
await test -e held
bash -c 'flock lock true; exit $?' &
P=$!
await waits_below $P flock flock
ready $P
wait $P
