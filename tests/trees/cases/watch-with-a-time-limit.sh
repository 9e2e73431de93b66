# truth: healthy
# then: ends 2
# needs: inotifywait
# about: inotifywait gives up after a time with exit code 2 (inotifywait(1), -t)
. "${0%/*}/lib/tree.sh"
mkdir in
inotifywait -q -t "$SECS" in >got 2>err &
P=$!
watches() { grep -q '^inotify ' /proc/$P/fdinfo/*; }
await watches
ready $P
wait $P
