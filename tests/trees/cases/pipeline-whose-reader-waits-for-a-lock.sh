# truth: healthy
# then: ends
# needs: flock setsid
# about: a producer's pipe is full; its reader first waits for a lock, which a process outside of its tree has for a time, and then reads all (pipe(7), flock(1))
. "${0%/*}/lib/tree.sh"
setsid flock lock -c "touch held; sleep $SECS" </dev/null >/dev/null 2>&1 &
await test -e held
mkfifo f
seq 1 100000 >f &
W=$!
bash -c 'exec 9>lock; flock 9; cat >/dev/null' <f &
P=$!
await in_call $W write
ready $W
wait $W
