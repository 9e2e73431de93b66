# truth: healthy
# then: ends
# needs: node
# about: an agent keeps an interpreter's stdin open to write to it later, and has posted a request to its model, whose answer comes after a time (Codex, exec_command and write_stdin)
. "${0%/*}/lib/tree.sh"
(setsid python3 "$LIB/server.py" late "$D/port" </dev/null >/dev/null 2>&1 &)
await test -s port
PORT=$(<port)
DO="{\"model\":$PORT,\"tools\":[{\"cmd\":[\"python3\",\"-i\",\"-q\"],\"stdio\":[\"pipe\",\"pipe\",\"pipe\"]}],\"end\":true}" agent codex exec go </dev/null &
A=$!
await waits_below $A python3 read select poll
sleep 1
ready $A
wait $A
