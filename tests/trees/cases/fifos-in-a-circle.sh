# truth: hung
# cause: fifo|each other
# about: two commands open two FIFOs in the opposite order: each waits for the other's second open (fifo(7))
. "${0%/*}/lib/tree.sh"
mkfifo a b
show cat open sh -c 'cat <a >b & cat <b >a; wait'
