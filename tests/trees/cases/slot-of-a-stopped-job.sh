# truth: hung
# cause: stop|lock
# culprit: stop
# needs: flock
# later: 15 the one who stopped it may let it go on
# about: a queue's next job waits for the slot's lock, and the job that has it is stopped (flock(1), batch(1))
. "${0%/*}/lib/tree.sh"
flock slot -c 'touch has; kill -STOP $$; true' &
await test -e has
show flock flock sh -c 'flock slot -c true; true'
