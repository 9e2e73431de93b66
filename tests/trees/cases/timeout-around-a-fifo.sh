# truth: healthy
# then: ends 124
# about: timeout ends a command that opens a FIFO of nobody (timeout(1): it has a POSIX timer)
. "${0%/*}/lib/tree.sh"
mkfifo in
show cat open timeout "$SECS" cat in
