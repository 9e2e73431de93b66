# truth: healthy
# then: ends
# needs: python3
# about: a producer's pipe is full; its reader first computes for a time, and then reads all (pipe(7))
. "${0%/*}/lib/tree.sh"

mkfifo f
seq 1 100000 >f &
W=$!
bash -c 'python3 -S -c "import os, time
t = time.time() + float(os.environ[\"SECS\"])
while time.time() < t: pass" </dev/null; cat >/dev/null' <f &
P=$!
await in_call $W write
ready $W
wait $W
