# truth: healthy
# then: ends
# needs: node
# about: an agent's tool starts a server in the background, and a client that computes for a time and says `quit` to the server, which ends then; the script waits for all its jobs (bash(1), wait)
. "${0%/*}/lib/tree.sh"
export HOME=$D
cat >tool.sh <<'S'
python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("run"); s.listen(); c, _ = s.accept(); c.recv(9)' &
until [ -S run ]; do sleep .1; done
{ touch up; sleep "$SECS"; echo quit | nc -NU run; } &
wait
S
DO='{"tools":[["bash","tool.sh"]],"end":true}' agent claude -p go </dev/null &
A=$!
await test -e up
await waits_below $A sleep nanosleep
ready $A
wait $A
