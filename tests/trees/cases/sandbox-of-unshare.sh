# truth: healthy
# then: ends
# needs: unshare
# if: unshare -Urpf --mount-proc true
# about: a script in its own user and PID namespace waits for a pipe whose writer, outside of the namespace, writes after a time (unshare(1), user_namespaces(7))
. "${0%/*}/lib/tree.sh"
mkfifo f
(exec >f; sleep "$SECS"; echo done) &
unshare -Urpf --mount-proc bash -c 'read -r x; exit 0' <f &
P=$!
await waits_below $P bash read
ready $P
wait $P
