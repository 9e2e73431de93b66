# truth: healthy
# then: ends
# needs: curl
# about: a script's producer waits in a full pipe: curl sends its data to a server outside of the tree, which takes a time over the first bytes and then reads all (curl(1), -T -)
. "${0%/*}/lib/tree.sh"
(setsid python3 "$LIB/lazy.py" "$D/port" </dev/null >/dev/null 2>&1 &)
await test -s port
cat >pipe.js <<'S'
const s = require('net').connect(+process.argv[2], '127.0.0.1'); process.stdin.pipe(s); s.on('data', () => {}); s.on('close', () => process.exit(0));
S
bash -c "head -c 40000000 /dev/zero | curl -sS -T - -H Expect: http://127.0.0.1:$(<port)/ >got 2>&1; exit 0" &
P=$!
await waits_below $P head write
sleep 1
ready $P
wait $P
exit 0
