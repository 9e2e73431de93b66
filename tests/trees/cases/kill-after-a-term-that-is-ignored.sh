# truth: healthy
# then: ends 137
# about: a command ignores the SIGTERM of its limit; timeout sends SIGKILL after a further time (timeout(1), --kill-after)
. "${0%/*}/lib/tree.sh"
mkfifo in
timeout -k "$SECS" 0.3 bash -c 'trap "touch termed" TERM; exec 3<>in; while ! read -r -u 3; do :; done' &
P=$!
await test -e termed
await waits_below $P bash read
await in_call $P wait sigsuspend
ready $P
wait $P
exit $?
