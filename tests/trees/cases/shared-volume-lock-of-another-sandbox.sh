# truth: healthy
# then: ends
# needs: root unshare
# about: a script waits for the lock of a cache's folder, which a job in another PID namespace has for a time (flock(1); pid_namespaces(7))
. "${0%/*}/lib/tree.sh"
setsid -f unshare -pf --mount-proc flock lock sh -c 'touch has; sleep "$SECS"' </dev/null >/dev/null 2>&1
await test -e has
echo 'flock lock true' >job.sh
show flock flock bash job.sh
