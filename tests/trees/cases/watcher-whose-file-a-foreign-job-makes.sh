# truth: healthy
# then: ends
# needs: inotifywait node setsid
# about: an agent's tool watches a folder without a limit for the file that a build outside of its tree makes after a time (inotifywait(1))
. "${0%/*}/lib/tree.sh"
mkdir out
(setsid bash -c 'sleep "$SECS"; touch out/built; exit' </dev/null >/dev/null 2>&1 &)
DO='{"tools":[["inotifywait","-qq","-e","create","out"]],"end":true}' agent codex exec go </dev/null &
A=$!
await waits_below $A inotifywait read poll select
ready $A
wait $A
