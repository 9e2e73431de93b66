# truth: hung
# cause: pipe|full|read|output
# culprit: sleep
# about: a tool's output goes to a shell that shows its first line and then keeps its container alive: the pipe is full and never read again (sleep(1): infinity; pipe(7))
. "${0%/*}/lib/tree.sh"
mkfifo f
seq 1 100000 >f &
P=$!
bash -c 'read -r one; exec sleep infinity' <f &
await in_call $P write
ready $P
wait $P
