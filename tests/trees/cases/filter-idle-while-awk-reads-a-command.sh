# truth: healthy
# then: ends
# needs: awk
# about: awk keeps the stdin of a filter of its output, and waits for the line of another command, which comes after a time (awk(1), print | and getline)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep awk 'BEGIN { print "b" | "cat >copy"; "sleep $SECS; echo x" | getline line; exit line != "x" }'
