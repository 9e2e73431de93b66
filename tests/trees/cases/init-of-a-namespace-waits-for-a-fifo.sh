# truth: hung
# verdict: HUNG WAITING
# cause: fifo
# needs: unshare root
# about: the first process of a PID namespace waits for a child that opens a FIFO which nobody else has open (fifo(7))
. "${0%/*}/lib/tree.sh"
mkfifo queue
show cat open unshare --fork --pid --mount-proc --kill-child sh -c 'cat queue; exit 0'
