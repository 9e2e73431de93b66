# truth: healthy
# unseen: what a job of the script does after its wait cannot be seen
# then: ends
# about: a script waits for its server, which reads a pipe that the script holds; a job of the script waits for a lock, which a process outside of the tree has for a time, and ends the server (flock(1), kill(1))
. "${0%/*}/lib/tree.sh"
export SECS=$((${SECS%.*} + 12))
setsid -f flock lock bash -c 'touch has; sleep "$SECS"' </dev/null >/dev/null 2>&1; await test -e has
cat >entry.sh <<'S'
mkfifo p; exec 3<>p; rm p
cat <&3 & S=$!
{ exec 3>&-; flock lock true; kill $S; } &
touch up; wait $S; exit 0
S
bash entry.sh 2>err &
P=$!
await test -e up
await waits_below $P cat read
await waits_below $P flock flock
ready $P
wait $P
