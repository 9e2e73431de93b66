# truth: hung
# cause: stop
# later: 15 the one who stopped it may let it go on
# about: a script waits for a job that a signal has stopped (bash(1), wait; signal(7))
. "${0%/*}/lib/tree.sh"
bash -c 'python3 -c "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)" & wait' &
P=$!
stops() { below $P python3 && state "$CHILD" T; }
await stops
ready $P
wait $P
