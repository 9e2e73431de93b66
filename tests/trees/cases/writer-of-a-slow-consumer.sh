# truth: healthy
# then: ends
# about: a producer blocks in a full pipe while its consumer takes its time over the first block (pipe(7), pipe capacity)
. "${0%/*}/lib/tree.sh"
show yes write bash -c 'yes | (sleep "$SECS"; head -c 9 >/dev/null); exit 0'
