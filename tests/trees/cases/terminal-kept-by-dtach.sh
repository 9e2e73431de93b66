# truth: healthy
# then: ends 1
# needs: dtach
# about: a command runs on a terminal that dtach keeps without anybody attached, and ends by itself (dtach(1), -N)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep dtach -N socket bash -c 'sleep "$SECS"; sleep 1'
