# truth: healthy
# then: ends
# about: a script reads commands from a named pipe that a keeper holds open for ever, and a process outside of its tree writes one after a time (fifo(7); sleep infinity >in)
. "${0%/*}/lib/tree.sh"
mkfifo in
(setsid bash -c 'until test -e begun; do sleep .05; done; sleep "$SECS"; echo stop >in' </dev/null >/dev/null 2>&1 &)
bash -c 'sleep infinity >in & K=$!; read -r command <in; kill $K; exit 0' &
P=$!
await in_call $P read
await below $P sleep
: >begun
sleep 1
ready $P
wait $P
