# truth: healthy
# then: ends
# needs: node curl
# about: an agent's tool shows a log with tail -f in the background while curl waits for a build service outside of the tree, and ends tail then (bash(1), kill; the idiom of CI scripts)
. "${0%/*}/lib/tree.sh"
export HOME=$D SECS=$((${SECS%.*} + 8))
echo line >log
setsid -f python3 -c '
import os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); open("up", "w"); c, _ = s.accept(); c.recv(999); open("asked", "w"); time.sleep(float(os.environ["SECS"])); c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
' </dev/null >/dev/null 2>&1
await test -e up
cat >tool.sh <<'S'
tail -f log & T=$!
curl -s --unix-socket run http://x/build >out
kill $T; exit 0
S
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await waits_below $A tail read poll select nanosleep
await test -e asked
ready $A
wait $A
