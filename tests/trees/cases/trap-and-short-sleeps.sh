# truth: healthy
# then: ends
# about: a service loop sleeps a second at a time until its stop file is there, which another job writes (bash(1), trap)
. "${0%/*}/lib/tree.sh"
show sleep nanosleep bash -c 'trap "exit 0" TERM; (sleep "$SECS"; : >stop) & until [ -e stop ]; do sleep 1; done; exit 0'
