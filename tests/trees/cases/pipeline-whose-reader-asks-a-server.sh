# truth: healthy
# then: ends
# needs: curl
# about: a producer's pipe is full; its reader first asks a slow server outside of its tree, and then reads all (pipe(7), curl(1))
. "${0%/*}/lib/tree.sh"
setsid python3 "$LIB/server.py" late "$D/port" </dev/null >/dev/null 2>&1 &
await test -s port
mkfifo f
seq 1 100000 >f &
W=$!
bash -c 'curl -s "http://127.0.0.1:$(<port)/" >got </dev/null; cat >/dev/null' <f &
P=$!
await in_call $W write
ready $W
wait $W
