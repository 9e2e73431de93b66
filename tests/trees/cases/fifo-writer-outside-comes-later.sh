# truth: healthy
# then: ends
# about: a reader opens a FIFO whose writer, outside of its tree, has it open after a sleep only (fifo(7))
. "${0%/*}/lib/tree.sh"
mkfifo queue
(sleep "$SECS"; echo hello >queue) &
show cat open sh -c 'cat queue >/dev/null; exit 0'
