# truth: healthy
# then: ends
# needs: socat python3
# about: socat relays between two sockets, and ends when both have been silent for a time (socat(1), -T)
. "${0%/*}/lib/tree.sh"
server silent
socat -T "${SECS%.*}" "TCP:127.0.0.1:$PORT" UNIX-LISTEN:socket &
P=$!
await in_call $P connect select poll accept
await test -S socket
cat >client.py <<'W'
import socket
s = socket.socket(socket.AF_UNIX); s.connect('socket'); s.recv(9)
W
python3 client.py &
C=$!
await in_call $C recv
await in_call $P select poll
ready $P
wait $P
E=$?
kill $SERVER
exit $E
