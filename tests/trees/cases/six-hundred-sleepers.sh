# truth: healthy
# then: ends
# about: a script waits for six hundred commands that sleep (bash(1), wait)
. "${0%/*}/lib/tree.sh"
echo 'for n in $(seq 600); do sleep "$SECS" & done; touch begun; wait' >job.sh
bash job.sh &
P=$!
await test -e begun
await state $P S
ready $P
wait $P
