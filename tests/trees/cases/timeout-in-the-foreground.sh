# truth: healthy
# then: ends 124
# about: timeout --foreground -k around a shell that reads a pipe of its own (timeout(1), -k)
. "${0%/*}/lib/tree.sh"
mkfifo in
show cat read timeout --foreground -k 5 "$SECS" sh -c 'exec 3<>in; cat <&3; true'
