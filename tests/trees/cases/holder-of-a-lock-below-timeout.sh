# truth: healthy
# then: ends
# about: two scripts take the same two locks in the opposite order; the second wait of one of them is below timeout, which ends it (flock(1); timeout(1))
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
flock a bash -c 'touch A; until [ -e B ]; do sleep .1; done; flock b true' &
flock b bash -c 'touch B; until [ -e A ]; do sleep .1; done; timeout "$SECS" flock a true; exit 0' &
wait
S
bash job.sh &
P=$!
both() { [ "$(pgrep -s "$(ps -o sid= -p $P)" -x flock | wc -l)" = 3 ] && [ "$(grep -c -- '-> FLOCK' /proc/locks)" -ge 2 ] && pgrep -P "$(pgrep -g 0 -x timeout -n)" flock || below $P timeout && waits_below $CHILD flock flock; }
await both
ready $P
wait $P
