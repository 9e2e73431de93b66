# truth: healthy
# then: ends
# about: a shell reads from a silent pipe with a limit of its own (bash(1), read -t)
. "${0%/*}/lib/tree.sh"
mkfifo in
show . 'select read poll' bash -c 'exec 3<>in; read -t "$SECS" line <&3; exit 0'
