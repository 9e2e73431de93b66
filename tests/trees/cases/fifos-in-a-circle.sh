# truth: hung
# verdict: HUNG WAITING
# cause: fifo|each other
# about: two commands open two FIFOs in the opposite order: each waits for the other's second open (fifo(7))
. "${0%/*}/lib/tree.sh"
mkfifo a b
sh -c 'cat <a >b & cat <b >a & wait' &
P=$!
circle() { set -- $(<"/proc/$P/task/$P/children") && [ $# = 2 ] && in_call "$1" open && in_call "$2" open; }
await circle
ready $P
wait $P
