# truth: healthy
# then: ends
# about: two scripts take the same two locks in the opposite order; one of them gives up after its limit, and the other goes on (flock(1), -w)
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 20))
cat >job.sh <<'S'
flock a bash -c 'touch A; until [ -e B ]; do sleep .1; done; flock b true' &
flock b bash -c 'touch B; until [ -e A ]; do sleep .1; done; flock -w "$SECS" a true' &
wait
S
bash job.sh &
P=$!
both() { [ "$(pgrep -s "$(ps -o sid= -p $P)" -x flock | wc -l)" = 4 ] && [ "$(grep -c -- '-> FLOCK' /proc/locks)" -ge 2 ]; }
await both
ready $P
wait $P
