# truth: hung
# cause: stop|trac
# needs: strace
# later: 15 the one who stopped it may let it go on
# about: a command waits in its next event for a tracer that a signal has stopped (ptrace(2))
. "${0%/*}/lib/tree.sh"
strace -f -o trace sh -c 'while :; do read line <in; done' &
P=$!
mkfifo in
await below $P sh
kill -STOP $P
await state $P T
kill -USR1 "$CHILD"
await state "$CHILD" t
ready $P
wait $P
