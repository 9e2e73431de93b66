# truth: healthy
# then: ends
# needs: script
# about: script copies between its terminal and a new one, on which a command runs (script(1), -c)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep script -qec 'sleep "$SECS"' log
