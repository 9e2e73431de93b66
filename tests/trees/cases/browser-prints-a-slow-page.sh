# truth: healthy
# then: ends
# needs: chromium
# about: a browser without a window loads a page whose server takes its time, and prints it (Chromium, --headless --dump-dom)
. "${0%/*}/lib/tree.sh"
export HOME=$D
server late
timeout -s KILL 3000 chromium --headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --user-data-dir="$D/profile" --dump-dom "http://127.0.0.1:$PORT/" >dom 2>err &
P=$!
asked() { python3 - "$PORT" <<'S'
import sys
port = '%04X' % int(sys.argv[1])
sys.exit(not any(l.split()[1].endswith(':' + port) and l.split()[3] == '01' for l in open('/proc/net/tcp').read().splitlines()[1:]))
S
}
await asked
ready $P
wait $P
E=$?
kill $SERVER
exit $E
