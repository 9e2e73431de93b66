# truth: hung
# cause: lock
# about: two scripts take the same two locks in the opposite order, and each waits for the other's (flock(1), no limit)
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
flock a bash -c 'touch A; until [ -e B ]; do sleep .1; done; flock b true' &
flock b bash -c 'touch B; until [ -e A ]; do sleep .1; done; flock a true' &
wait
S
bash job.sh &
P=$!
both() { [ "$(grep -c -- '-> FLOCK' /proc/locks)" -ge 2 ] && [ "$(pgrep -s "$(ps -o sid= -p $P)" -x flock | wc -l)" = 4 ]; }
await both
ready $P
wait $P
