# truth: waiting
# verdict: WAITING UNKNOWN
# then: run gdb -nx -batch -ex "target remote 127.0.0.1:$(cat $D/port)" -ex kill
# needs: gdb gdbserver python3
# about: gdbserver holds a program at its start and waits for a debugger to connect (gdbserver(1))
. "${0%/*}/lib/tree.sh"
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
gdbserver --once "127.0.0.1:$PORT" sleep 1 >log 2>&1 &
P=$!
await grep -q Listening log
await in_call $P select poll accept
echo "$PORT" >port
ready $P
wait $P
