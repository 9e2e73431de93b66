# truth: hung
# verdict: HUNG WAITING
# cause: fifo|FIFO|pipe|each other|job.sh
# about: two jobs wait for a token in a FIFO that each of them has open for both; who took it has ended without giving it back (fifo(7); the idiom of a semaphore in bash)
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
mkfifo t; exec 9<>t; rm t; printf x >&9
for n in 1 2 3; do { read -rn1 k <&9; touch "took$n"; [ -n "$k" ] && kill -KILL $BASHPID; } & done
wait
S
bash job.sh 2>err &
P=$!
lost() { [ "$(ls took* | wc -l)" = 1 ] && [ "$(pgrep -P $P | wc -l)" = 2 ] && for c in $(pgrep -P $P); do [ "$(cut -d' ' -f1 /proc/$c/syscall)" = 0 ] || return 1; done; }
await lost
ready $P
wait $P
