# truth: healthy
# then: ends
# about: an agent's stdin is a named pipe that it has open for reading and writing, and a process outside of its tree writes the next message to it after a time (fifo(7), O_RDWR; stream-json)
. "${0%/*}/lib/tree.sh"
mkfifo in
cat >agent.py <<'S'
import json, sys
print(json.dumps({"type": "system", "subtype": "init", "session_id": "1"}), flush=True)
for line in iter(sys.stdin.readline, ""):
    print(json.dumps({"type": "result", "subtype": "success", "is_error": False}), flush=True); break
S
(setsid bash -c 'until test -e begun; do sleep .05; done; sleep "$SECS"; echo "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}" >in' </dev/null >/dev/null 2>&1 &)
bash -c '(exec -a claude python3 agent.py -p --input-format stream-json --output-format stream-json <>in >out); exit 0' &
P=$!
await test -s out
: >begun
ready $P
wait $P
