# truth: healthy
# then: ends
# needs: findmnt
# about: findmnt waits for a change of the table of mounts, for a time (findmnt(8), --poll, --timeout)
. "${0%/*}/lib/tree.sh"
show . 'poll epoll select' findmnt --poll --timeout "${SECS%.*}000" /no-such-place
