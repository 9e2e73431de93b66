# truth: healthy
# then: ends
# needs: dbus-run-session dbus-monitor
# about: a script on a bus of its own: the daemon serves, a monitor listens, and the script ends both after a time (dbus-run-session(1))
. "${0%/*}/lib/tree.sh"
dbus-run-session -- sh -c 'dbus-monitor --session >log & m=$!; sleep "$SECS"; kill $m; exit 0' &
P=$!
await test -s log
ready $P
wait $P
