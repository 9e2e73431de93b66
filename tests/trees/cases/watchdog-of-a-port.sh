# truth: healthy
# unseen: what a job of the script does after its wait cannot be seen
# then: ends
# about: a script waits for its server, which reads a pipe that the script holds; a job of the script waits for a call at a socket with a path, which a process outside of the tree makes after a time, and ends the server (nc(1), -lU; kill(1))
. "${0%/*}/lib/tree.sh"
export SECS=$((${SECS%.*} + 12))
setsid -f bash -c 'sleep "$SECS"; nc -NU stop </dev/null' </dev/null >/dev/null 2>&1
cat >entry.sh <<'S'
mkfifo p; exec 3<>p; rm p
cat <&3 & S=$!
{ exec 3>&-; nc -lU stop </dev/null; kill $S; } &
touch up; wait $S; exit 0
S
bash entry.sh 2>err &
P=$!
await test -e up
await waits_below $P cat read
await waits_below $P nc accept poll
ready $P
wait $P
