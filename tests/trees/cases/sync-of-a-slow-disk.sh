# truth: healthy
# then: moves
# about: a program writes with a sync after each block for a long time (dd(1), oflag=dsync)
. "${0%/*}/lib/tree.sh"
( while :; do dd if=/dev/zero of=file bs=4k count=200 oflag=dsync 2>/dev/null; done ) &
P=$!
await test -s file
ready $P
wait $P
