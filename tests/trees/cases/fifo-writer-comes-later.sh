# truth: healthy
# then: ends
# about: a reader opens a FIFO whose writer, a shell of the same tree, opens it after its sleep (fifo(7))
. "${0%/*}/lib/tree.sh"
mkfifo queue
show cat open bash -c '(sleep "$SECS"; echo hello >queue) & cat queue >/dev/null; exit 0'
