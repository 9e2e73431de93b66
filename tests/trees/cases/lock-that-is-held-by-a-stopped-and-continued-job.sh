# truth: healthy
# then: ends
# about: a script waits for a lock whose holder is stopped by a job of the same script, which continues it after a time (flock(1); kill(1), STOP and CONT)
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 10))
cat >job.sh <<'S'
flock lock bash -c 'touch has; kill -STOP $$; exit 0' & H=$!
until [ -e has ]; do sleep .1; done
{ sleep "$SECS"; pkill -CONT -P $H; } &
flock lock true; wait; exit 0
S
bash job.sh &
P=$!
wants() { local p; for p in $(pgrep -s "$(ps -o sid= -p $P)" -x flock); do [ "$(cut -d' ' -f1 /proc/$p/syscall)" = 73 ] && return 0; done; return 1; }
await wants
ready $P
wait $P
