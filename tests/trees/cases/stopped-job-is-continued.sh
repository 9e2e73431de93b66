# truth: healthy
# then: ends
# about: a script stops its job and continues it after a time (kill(1), STOP and CONT)
. "${0%/*}/lib/tree.sh"
: >one
bash -c 'cat /dev/null - <one & j=$!; kill -STOP $j; : >stopped; sleep "$SECS"; kill -CONT $j; wait $j; exit 0' 2>err &
P=$!
await test -e stopped
ready $P
wait $P
