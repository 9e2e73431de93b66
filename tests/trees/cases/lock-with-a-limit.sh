# truth: healthy
# then: ends 1
# needs: flock
# about: flock gives up after a time; it has a timer that interrupts the call (flock(1), -w)
. "${0%/*}/lib/tree.sh"
exec 8>lock
flock 8
show . flock flock -w "$SECS" lock true
