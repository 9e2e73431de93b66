# truth: healthy
# then: ends
# about: a job waits for a lock; its holder reads a FIFO that it keeps open, to which a process outside of the tree writes after a time (flock(1); fifo(7))
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 10))
mkfifo f
cat >job.sh <<'S'
flock lock bash -c 'exec 3<>f; touch has; read x <&3' &
until [ -e has ]; do sleep .1; done
flock lock true; wait; exit 0
S
setsid -f bash -c 'sleep "$SECS"; echo word >f' </dev/null >/dev/null 2>&1
bash job.sh &
P=$!
wants() { local p; for p in $(pgrep -s "$(ps -o sid= -p $P)" -x flock); do [ "$(cut -d' ' -f1 /proc/$p/syscall)" = 73 ] && return 0; done; return 1; }
await wants
ready $P
wait $P
