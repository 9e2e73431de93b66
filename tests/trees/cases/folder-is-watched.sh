# truth: waiting
# verdict: WAITING UNKNOWN WORKING
# then: run touch $D/in/x
# needs: inotifywait
# about: inotifywait waits for the next file of a folder (inotifywait(1))
. "${0%/*}/lib/tree.sh"
mkdir in
inotifywait -q -e create in >got 2>err &
P=$!
watches() { grep -q '^inotify ' /proc/$P/fdinfo/*; }
await watches
ready $P
wait $P
