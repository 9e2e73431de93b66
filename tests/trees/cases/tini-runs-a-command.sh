# truth: healthy
# then: ends 3
# needs: tini
# about: a small init takes signals with a limit of a second, reaps, and ends with its command (tini, -s: as a subreaper)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep tini -s -- bash -c 'sleep "$SECS"; exit 3'
