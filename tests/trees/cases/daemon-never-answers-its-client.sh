# truth: hung
# verdict: HUNG WAITING
# cause: docker
# certain: no
# needs: node
# about: a client's request to a daemon on a unix socket stays unanswered; the daemon is alive and waits for connections (unix(7))
. "${0%/*}/lib/tree.sh"
cat >daemon.py <<'S'
import socket
s = socket.socket(socket.AF_UNIX); s.bind('docker.sock'); s.listen(5); kept = []
while True: kept.append(s.accept())
S
cat >client.py <<'S'
import socket
s = socket.socket(socket.AF_UNIX); s.connect('docker.sock'); s.sendall(b'GET /_ping HTTP/1.1\r\n\r\n'); s.recv(4096)
S
(. "$LIB/tree.sh"; PYTHONHOME=$(python3 -c 'import sys; print(sys.prefix)') exec -a dockerd setsid -f python3 daemon.py) </dev/null >/dev/null 2>&1
await test -S docker.sock
DO='{"tools":[["bash","-c",". \"$LIB/tree.sh\"; named docker python3 client.py"]]}' agent claude -p go </dev/null &
A=$!
await waits_below $A python3 recv
ready $A
wait $A
