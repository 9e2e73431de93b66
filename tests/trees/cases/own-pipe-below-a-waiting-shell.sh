# truth: hung
# cause: pipe
# culprit: python3
# about: a shell waits for a child that reads a pipe whose only writer it is itself (pipe(7))
. "${0%/*}/lib/tree.sh"
sh -c 'python3 -c "import os; r, w = os.pipe(); os.read(r, 1)"; true' &
P=$!
await below $P python3
await in_call "$CHILD" read
ready $P
wait $P
