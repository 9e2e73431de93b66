# truth: healthy
# then: ends
# about: a script is called claude, and its helpers codex and opencode; it is none of them: they read and write a pipe with a pause (bash(1), exec -a)
. "${0%/*}/lib/tree.sh"
cat >claude <<'S'
#!/bin/bash
(exec -a codex sleep "$SECS"; ) | (exec -a opencode cat)
sleep 1
S
chmod +x claude
./claude -p go </dev/null &
P=$!
await waits_below $P sleep nanosleep
ready $P
wait $P
