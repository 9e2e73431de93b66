# truth: healthy
# then: ends
# needs: flock setsid
# about: a reader waits for a script that first waits for a lock of a process outside of the tree, and then writes (pipe(7), flock(1))
. "${0%/*}/lib/tree.sh"
setsid flock lock -c "touch held; sleep $SECS" </dev/null >/dev/null 2>&1 &
await test -e held
mkfifo f
bash -c 'exec 9>lock; flock 9; echo done; exit 0' >f </dev/null &
cat <f >got &
P=$!
await in_call $P read
sleep 1
ready $P
wait $P
