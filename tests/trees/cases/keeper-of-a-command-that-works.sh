# truth: healthy
# then: ends
# about: a script keeps a placeholder, `sleep infinity`, that it ends itself, and waits for its work, which reads its second half through a pipe (sleep(1): infinity; bash(1), wait)
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
sleep infinity & K=$!
(sleep "$SECS"; echo done) | sort >out & wait $!
kill $K; exit 0
S
bash job.sh &
P=$!
await sh -c "[ \$(pgrep -P $P sleep | wc -l) = 1 ] && pgrep -P $P sort"
ready $P
wait $P
