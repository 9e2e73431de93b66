# truth: healthy
# then: ends
# needs: gdb
# about: gdb in batch mode runs a program to its end (gdb, -batch)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep gdb -q -nx -batch -ex 'set startup-with-shell off' -ex run --args sleep "$SECS"
