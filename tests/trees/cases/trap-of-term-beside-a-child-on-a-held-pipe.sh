# truth: healthy
# then: ends
# about: an entry script has a handler of SIGTERM that ends its server, a program on a pipe that the script holds, and waits for it; a manager outside of the tree sends SIGTERM after a time (bash(1), trap and wait; docker stop)
. "${0%/*}/lib/tree.sh"
cat >entry.sh <<'S'
mkfifo p; exec 3<>p; rm p
trap 'exec 3>&-; kill $S; exit 0' TERM
cat <&3 & S=$!
touch up; wait $S
S
bash entry.sh &
P=$!
await test -e up
setsid -f bash -c 'sleep "$SECS"; kill -TERM "$0"' $P </dev/null >/dev/null 2>&1
await waits_below $P cat read
ready $P
wait $P
