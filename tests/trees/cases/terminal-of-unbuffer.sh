# truth: healthy
# then: ends
# needs: unbuffer
# about: a command runs on a terminal of expect, which has no limit for it (unbuffer(1): set timeout -1)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep unbuffer bash -c 'sleep "$SECS"; echo done'
