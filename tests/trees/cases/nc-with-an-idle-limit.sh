# truth: healthy
# then: ends
# needs: nc
# about: a script sends a request with nc, which does not end its side of the connection; the server reads to the end, and nc gives up after a time of silence (nc(1), -w)
. "${0%/*}/lib/tree.sh"
cat >server.py <<'S'
import os, socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(4)
open("port.new", "w").write(str(l.getsockname()[1])); os.rename("port.new", "port")
c = l.accept()[0]; got = b""
while data := c.recv(999): got += data
try: c.sendall(got.upper())
except OSError: pass
S
bash -c 'python3 server.py & until [ -e port ]; do sleep .1; done; echo go | nc -w ${SECS%.*} 127.0.0.1 $(cat port); wait; exit 0' </dev/null &
P=$!
both() { waits_below $P nc poll && waits_below $P python3 recv; }
await both
ready $P
wait $P
