# truth: healthy
# then: ends
# needs: node
# about: an agent's tool waits until no program of a name runs any more; one does, outside of its tree, for a time (pgrep(1), -x; apt's idiom with fuser)
. "${0%/*}/lib/tree.sh"; export SECS=$((${SECS%.*} + 20))
cp "$(command -v sleep)" "$D/upg$$"
setsid -f "$D/upg$$" "$SECS" </dev/null >/dev/null 2>&1
DO='{"tools":[["bash","-c","while pgrep -x upg'$$' >/dev/null; do [ -e seen ] || touch seen; sleep 2; done"]],"end":true}' agent codex exec go </dev/null &
A=$!
await test -e seen
ready $A
wait $A
