# truth: hung
# verdict: HUNG WAITING
# cause: fifo|standard input|stdin
# needs: ed
# about: a line editor's commands come from a FIFO which its own shell keeps open for writing and never writes
. "${0%/*}/lib/tree.sh"
mkfifo commands
show ed read sh -c 'exec 3<>commands; ed -s <&3; true'
