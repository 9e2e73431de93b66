# truth: healthy
# then: ends
# needs: curl
# about: a reader waits for a script that first asks a slow server outside of the tree, and then writes (pipe(7), curl(1))
. "${0%/*}/lib/tree.sh"
setsid python3 "$LIB/server.py" late "$D/port" </dev/null >/dev/null 2>&1 &
await test -s port
mkfifo f
bash -c 'curl -s "http://127.0.0.1:$(<port)/" >got2; echo done; exit 0' >f </dev/null &
cat <f >got &
P=$!
await in_call $P read
sleep 1
ready $P
wait $P
