# truth: healthy
# then: ends
# needs: node
# about: an agent waits for its model's answer, which comes after a time; its tool server is idle, waits for the next request, and has not reaped a helper (MCP, stdio transport; wait(2), zombies)
. "${0%/*}/lib/tree.sh"
cat >server.py <<'S'
import json, os, subprocess, sys
p = subprocess.Popen(["true"]); os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
for line in iter(sys.stdin.readline, ""):
    m = json.loads(line)
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}}), flush=True); open("up", "w")
S
(setsid python3 "$LIB/server.py" late "$D/port" </dev/null >/dev/null 2>&1 &)
await test -s port
PORT=$(<port)
DO="{\"model\":$PORT,\"end\":true,\"servers\":[{\"cmd\":[\"python3\",\"server.py\"],\"send\":[{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}]}]}" agent claude -p go </dev/null &
A=$!
await test -e up
await waits_below $A python3 read
ready $A
wait $A
