# truth: hung
# cause: fifo|named pipe|each other
# about: a script waits for its job, which opens a FIFO for writing; the script itself would read that FIFO only afterwards (fifo(7), open blocks; bash(1), wait)
. "${0%/*}/lib/tree.sh"
mkfifo f
bash -c 'seq 1 9 >f & wait; cat f' &
P=$!
await in_call $P wait
sleep 1
ready $P
wait $P
