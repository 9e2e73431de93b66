# truth: healthy
# then: ends
# needs: flock
# about: a script writes its log into a filter and waits for a lock that another job of the machine has for a time (flock(1))
. "${0%/*}/lib/tree.sh"
: >lock
setsid flock lock sleep "$SECS" </dev/null >/dev/null 2>&1 &
held() { ! flock -n lock true; }
await held
show flock flock bash -c 'exec 3> >(exec cat >log); echo begins >&3; flock lock true; echo over >&3; exec 3>&-; exit 0'
