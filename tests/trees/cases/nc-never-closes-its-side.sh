# truth: hung
# verdict: HUNG
# cause: each other|circle|wait for|server|answer
# needs: nc
# about: a script sends a request with nc, whose input is over; without -N it does not end its side of the connection, and the server reads the request to its end before it answers (nc(1), -N)
. "${0%/*}/lib/tree.sh"
cat >server.py <<'S'
import os, socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(4)
open("port.new", "w").write(str(l.getsockname()[1])); os.rename("port.new", "port")
c = l.accept()[0]; got = b""
while data := c.recv(999): got += data
c.sendall(got.upper())
S
bash -c 'python3 server.py & until [ -e port ]; do sleep .1; done; echo go | nc 127.0.0.1 $(cat port); wait' </dev/null &
P=$!
both() { waits_below $P nc poll && waits_below $P python3 recv; }
await both
ready $P
wait $P
