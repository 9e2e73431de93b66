# truth: hung
# cause: pipe
# culprit: python3
# about: a shell waits for a child that reads a pipe whose only writer it is itself (pipe(7))
. "${0%/*}/lib/tree.sh"
sh -c 'python3 -c "import os; r, w = os.pipe(); os.read(r, 1)"; true' &
P=$!
await waits_below $P python3 read
ready $P
wait $P
