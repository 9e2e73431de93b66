# truth: hung
# cause: tee|cat|pipe|full|each other
# about: tee writes into two pipes by turns; their reader reads the one to its end first, and the other is full (tee(1); pipe(7), pipe capacity)
. "${0%/*}/lib/tree.sh"
mkfifo f
bash -c 'seq 1000000 | tee >(cat >f) | cat f - >out; exit' </dev/null &
P=$!
full() { local n; for n in 1 2 3 4 5; do waits_below $P tee write && waits_below $P seq write || return 1; done; }
await full
ready $P
wait $P
