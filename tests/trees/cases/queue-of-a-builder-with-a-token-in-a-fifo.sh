# truth: healthy
# then: ends
# about: five jobs take turns by two tokens in a FIFO that each of them has open for both; two of them have the tokens and sleep (fifo(7); the idiom of a semaphore in bash)
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
mkfifo t; exec 9<>t; printf xx >&9
for n in 1 2 3 4 5; do { read -rn1 k <&9; touch "took$n"; sleep "$SECS"; printf x >&9; } & done
wait
S
bash job.sh &
P=$!
took() { [ "$(ls took* | wc -l)" = 2 ]; }
await took
ready $P
wait $P
