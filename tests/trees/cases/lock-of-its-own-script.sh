# truth: hung
# cause: lock
# needs: flock
# about: a script that has a lock runs itself under the same lock again (flock(1))
. "${0%/*}/lib/tree.sh"
show flock flock sh -c 'exec 9>lock; flock 9; flock lock true; true'
