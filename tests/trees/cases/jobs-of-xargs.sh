# truth: healthy
# then: ends
# about: xargs runs two jobs at a time and waits for the first that ends (xargs(1), -P)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep sh -c 'printf "%s\n" 1 2 3 4 | xargs -P2 -I{} sleep "$SECS"'
