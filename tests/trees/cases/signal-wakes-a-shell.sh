# truth: healthy
# then: ends
# about: a shell that traps USR1 waits for a job that reads its own pipe; another job sends the signal after a time (bash(1), trap)
. "${0%/*}/lib/tree.sh"
mkfifo in
show cat read bash -c 'exec 3<>in; cat <&3 & j=$!; trap "kill $j; exit 0" USR1; (sleep "$SECS"; kill -USR1 $$) & wait $j'
