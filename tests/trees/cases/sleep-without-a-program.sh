# truth: healthy
# then: ends
# about: bash(1): read -t on a descriptor that is open for both on an unnamed pipe is a sleep without a program; nobody writes there, and the limit ends it.
. "${0%/*}/lib/tree.sh"
show . "poll select read" bash -c 'exec {f}<> <(:); read -t "$SECS" -u $f; exit 0'
