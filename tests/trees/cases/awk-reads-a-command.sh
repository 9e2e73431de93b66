# truth: healthy
# then: ends
# needs: awk
# about: awk reads a line of a command, which it says after a time, while awk keeps a second command's stdin (awk(1), getline)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep awk 'BEGIN { print "b" | "sort >sorted"; "sleep $SECS; echo x" | getline line; exit line != "x" }'
