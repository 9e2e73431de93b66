# truth: healthy
# then: ends 143
# about: a script's watchdog kills it after a time, while it reads a FIFO that nobody writes (bash(1), background jobs)
. "${0%/*}/lib/tree.sh"
mkfifo in
show cat read bash -c '(sleep "$SECS"; kill $$ $(cat job)) & exec 3<>in; cat <&3 & echo $! >job; wait $!; exit 143'
