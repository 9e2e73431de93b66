# truth: healthy
# then: ends
# about: an agent's stdin is a named pipe that its wrapper keeps open, and a process outside of the tree writes the next message to it after a time (fifo(7); stream-json)
. "${0%/*}/lib/tree.sh"
mkfifo in
cat >agent.py <<'S'
import json, sys
print(json.dumps({"type": "system", "subtype": "init", "session_id": "1"}), flush=True)
for line in iter(sys.stdin.readline, ""):
    print(json.dumps({"type": "result", "subtype": "success", "is_error": False}), flush=True); break
S
(setsid bash -c 'until test -e begun; do sleep .05; done; sleep "$SECS"; echo "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}" >in' </dev/null >/dev/null 2>&1 &)
bash -c 'exec 3<>in; python3 - >/dev/null </dev/null; (exec -a claude python3 agent.py -p --input-format stream-json --output-format stream-json <in >out); exit 0' &
P=$!
await below $P python3 || true
sleep 1
: >begun
ready $P
wait $P
