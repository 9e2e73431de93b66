# truth: healthy
# then: ends
# needs: screen
# about: screen runs a command without a terminal of its own and waits for its end (screen(1), -D -m)
. "${0%/*}/lib/tree.sh"
mkdir -m 700 sockets
export SCREENDIR=$D/sockets
show sleep nanosleep screen -D -m -c /dev/null sleep "$SECS"
